import type { Consumer } from '../../domain/consumer';
import { endAhead } from '../../domain/queueing/reservation';
import { bindingLevels } from '../../domain/server-group';
import type { ConsumerWrite, RefusedCommit } from '../port/placement-store';
import { type ClaimTerms, Draft, isEmpty } from './claims/draft';
import { countersOfMember, countersOfWrite, domainOf, type MemberCounters } from './claims/group-counters';
import { holdMore } from './claims/hold-more';
import { joinGroup } from './claims/hold-to-group';
import { holdToQuotas } from './claims/hold-to-quota';
import { takeAmounts } from './claims/take-amounts';
import { laterOf } from './claims/use-over-time';
import type { ClaimView } from './claims/view';
import { growthOf } from './project-usage';
import { ADMISSION_TURN, projectKey } from './tables';
import type { Proposal, Write } from './transaction';
import { endedBy, heldSinceAfter, type LedgerTime } from './usage/usage-records';

/**
 * Decides one `write_allocations`: all of it, or why not. This is the only place where it is decided, for every store.
 *
 * In order: the turn under which it was admitted; owners and guards of all consumers; quotas; what they hold is released; then consumer by consumer, provider by
 * provider and class by class what they take is checked and taken, and the consumer's group is checked. Where many claim at
 * once, the checks are bounds which the store keeps, so nobody has to decide again. A provider that is over its capacity takes
 * what, over the whole command, is no more than before. Of what makes it more, a conductor's write leaves the room that is
 * nominated for others of its priority or a higher one, and what reservations keep from it. `writes` have been through
 * `checkedWrites`.
 */
export function decideAllocations(view: ClaimView, writes: readonly ConsumerWrite[], terms: ClaimTerms): Proposal {
  const draft = new Draft(view, terms, new Set(writes.map(({ uuid }) => uuid)));
  const present = terms.admissionTurn === undefined ? undefined : turnNow(draft);
  if (present !== terms.admissionTurn) return draft.refuse({ kind: 'stale', present: present ?? 0 });
  const olds = writes.map((write) => draft.read('consumer', write.uuid));
  for (const [i, write] of writes.entries()) {
    const refusal = refusalOfOwner(write, olds[i]) ?? refusalOfGuard(write, olds[i]);
    if (refusal) return draft.refuse(refusal);
  }
  if (writes.every((write, i) => olds[i] === undefined && isEmpty(write))) return draft.refuse({ kind: 'unchanged' });
  const growth = growthOf(writes, olds);
  const overQuota = terms.withinQuota ? holdToQuotas(draft, growth) : undefined;
  if (overQuota) return draft.refuse(overQuota);
  for (const old of olds) if (old) release(draft, old);
  const more = growthByProvider(draft, writes);
  const keptLast: MemberCounters[] = [];
  for (const write of writes) {
    const refusal = takeAmounts(draft, write, more) ?? takeMembership(draft, write, keptLast);
    if (refusal) return draft.refuse(refusal);
  }
  for (const place of keptLast) draft.countMember(place, 1);
  const timeOf = (key: string) => laterOf(draft.glance('project_usage', key)?.row.atMs ?? 0, terms.atMs);
  const held = [...growth].flatMap(([key, by]) => holdMore(key, by, timeOf(key)));
  const at: LedgerTime = (projectId) => timeOf(projectKey(projectId));
  const made = consumerWrites(writes, olds, { atMs: terms.atMs, at });
  return {
    guards: draft.guards,
    writes: [...made, ...draft.moves(), ...raises(writes, olds), ...held, ...endedBy(writes, olds, at)],
  };
}

/** Revision of the turn to admit, which must be the same when the claim is committed; 0 when nobody has it. */
function turnNow(draft: Draft): number {
  draft.read('admission_turn', ADMISSION_TURN);
  return draft.glance('admission_turn', ADMISSION_TURN)?.revision ?? 0;
}

function release(draft: Draft, old: Consumer): void {
  for (const [providerUuid, resources] of Object.entries(old.allocations)) {
    for (const [resourceClass, amount] of Object.entries(resources)) draft.move(providerUuid, resourceClass, -amount);
  }
  const member = countersOfMember(old);
  if (member) draft.countMember(member, -1);
}

/** By how much a claim raises what is in use: what it takes, less what it has given back. */
function growthByProvider(draft: Draft, writes: readonly ConsumerWrite[]): (provider: string, name: string) => number {
  const growth = new Map<string, Record<string, number>>();
  for (const { allocations } of writes) {
    for (const uuid in allocations) {
      let sum = growth.get(uuid);
      if (!sum) growth.set(uuid, (sum = { ...draft.moved(uuid) }));
      const resources = allocations[uuid] as Readonly<Record<string, number>>;
      for (const name in resources) sum[name] = (sum[name] ?? 0) + (resources[name] as number);
    }
  }
  return (uuid, name) => growth.get(uuid)?.[name] ?? 0;
}

/** The places of a group that leaves its host or domain in one command, as one, are kept last: they don't hold one another back. */
function takeMembership(draft: Draft, write: ConsumerWrite, keptLast: MemberCounters[]): RefusedCommit | undefined {
  const { group: membership } = write;
  if (!membership || isEmpty(write)) return undefined;
  if (!membership.kept) return joinGroup(draft, write, membership);
  const place = countersOfWrite(write) as MemberCounters;
  if (membership.group.policy === 'affinity' || bindingLevels(membership.group)) keptLast.push(place);
  else draft.countMember(place, 1);
  return undefined;
}

/**
 * Holdings of another owner stay, whatever the guard. A conductor's write leaves alone a consumer of another type or project;
 * a release may leave out the project.
 */
function refusalOfOwner(write: ConsumerWrite, old: Consumer | undefined): RefusedCommit | undefined {
  if (old === undefined || isOwn(write, old)) return undefined;
  return { kind: 'owner', uuid: write.uuid, owner: old.owner };
}

function isOwn(write: ConsumerWrite, old: Consumer): boolean {
  if (old.owner !== write.owner) return false;
  if (write.owner === 'api') return true;
  if (old.consumerType !== write.consumerType) return false;
  return old.projectId === write.projectId || (write.projectId === '' && isEmpty(write));
}

function refusalOfGuard({ uuid, expect }: ConsumerWrite, old: Consumer | undefined): RefusedCommit | undefined {
  const refuse = (present: number | undefined): RefusedCommit => ({
    kind: 'generation',
    subject: 'consumer',
    uuid,
    present,
  });
  switch (expect.kind) {
    case 'any':
      return undefined;
    case 'absent':
      return old ? refuse(old.generation) : undefined;
    case 'generation':
      return old?.generation === expect.generation ? undefined : refuse(old?.generation);
    case 'claim':
      return old?.claimToken === expect.claimToken ? undefined : refuse(old?.claimToken);
  }
}

function consumerWrites(
  writes: readonly ConsumerWrite[],
  olds: readonly (Consumer | undefined)[],
  times: Times,
): Write[] {
  return writes.flatMap((write, i): Write[] => {
    const old = olds[i];
    if (!isEmpty(write)) return [{ kind: 'claim', key: write.uuid, row: nextConsumer(write, old, times) }];
    return old ? [{ kind: 'delete', table: 'consumer', key: write.uuid }] : [];
  });
}

interface Times {
  readonly atMs: number;
  readonly at: LedgerTime;
}

/** The generations of providers that something is taken from rise; those of what is given back where the write says so. */
function raises(writes: readonly ConsumerWrite[], olds: readonly (Consumer | undefined)[]): Write[] {
  const raised = new Set<string>();
  for (const [i, { allocations, raisesReleased = false }] of writes.entries()) {
    for (const uuid in allocations) raised.add(uuid);
    if (raisesReleased) for (const uuid in olds[i]?.allocations) raised.add(uuid);
  }
  return [...raised].map((key) => ({ kind: 'raise', key }));
}

/** The row as it will be. Its claim token is the commit's. Field by field, because every claim passes here. */
function nextConsumer(write: ConsumerWrite, old: Consumer | undefined, { atMs, at }: Times): Consumer {
  const { projectId, userId, consumerType, owner, allocations, mappings, group: membership } = write;
  const consumer = {
    uuid: write.uuid,
    generation: (old?.generation ?? 0) + 1,
    projectId,
    userId,
    consumerType,
    owner,
    allocations,
    mappings,
    groupId: membership?.group.id,
    groupHost: membership?.host,
    groupDomain: membership && domainOf(membership),
    claimToken: 0,
    createdAtMs: old?.createdAtMs ?? atMs,
    updatedAtMs: atMs,
  };
  const { priority = 0, isProtected = false, counted, flavor, reservation } = write;
  const endsAtMs = endAhead(write.endsAtMs, atMs);
  const heldSinceMs = heldSinceAfter(write, old, atMs, at);
  // Few say so: the others keep the objects of one layout.
  const kept = membership?.kept && { groupKept: membership.kept };
  const ranked = priority === 0 && !isProtected && !kept ? consumer : { ...consumer, priority, isProtected, ...kept };
  const named = flavor ? { ...ranked, flavor } : ranked;
  const limited = reservation || endsAtMs ? { ...named, reservation, endsAtMs } : named;
  const since = heldSinceMs === undefined ? limited : { ...limited, heldSinceMs };
  return counted ? { ...since, counted } : since;
}
