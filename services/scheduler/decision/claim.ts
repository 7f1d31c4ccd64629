import type { Move } from '#libs/contracts/selection';
import type { Clock } from '#libs/domain/clock';
import { type Consumer, isClaimOf } from '#libs/domain/consumer';
import { BerthError } from '#libs/domain/errors';
import type { Aggregate } from '#libs/domain/grouping/aggregate';
import { type QuotaExcess, sentenceOf } from '#libs/domain/quotas/quota';
import { bindingLevels, type ServerGroup } from '#libs/domain/server-group';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type { CommitResult, ConsumerWrite, PlacementStore } from '#libs/placement/port/placement-store';
import { claimWrite } from '#libs/placement/sealed/claim-write';
import { asksDevices } from '../devices/devices-asked';
import { domainOf, pathOf } from '../fleet/host-domains';
import { askedOf } from '../fleet/quota-exceeded';
import { type BesidesView, consumersBeside } from '../reservation/holdings';
import { type ClaimConflict, type ConflictMirror, refusedHosts, wasStale } from './claim-conflict';
import type { CompleteSpec } from './complete-request';
import { migrationWrite } from './move-claim';
import type { PickedHost } from './pick-hosts';

/** The part of the mirror that a claim needs: to read its own writes, and to catch up after a conflict. */
export type ClaimMirror = ConflictMirror & Pick<Mirror, 'apply' | 'applyRows' | 'waitFor'>;

/**
 * The claim is made and has this token; or the decision was stale, the mirror is up to date now, and it must be made again;
 * or it was not stale, and the hosts that the refusal is about must be left out of the next.
 */
export type Claimed =
  | { readonly kind: 'claimed'; readonly claimToken: number }
  | { readonly kind: 'stale' }
  | { readonly kind: 'contradicted'; readonly hosts: ReadonlyMap<number, string> };

/** The claims of a request. */
export interface WantedClaim {
  readonly picks: readonly PickedHost[];
  readonly spec: CompleteSpec & Pick<Consumer, 'priority' | 'isProtected' | 'endsAtMs'>;
  /** The domains that members of the request's group may go to, if it spreads. */
  readonly spreadAmong: readonly string[] | undefined;
  readonly move: Move | undefined;
}

/** Parts of the commit besides the claims. */
export interface ClaimTogether {
  /** Given back. */
  readonly freed: readonly ConsumerWrite[];
  /** As of `WriteAllocations`. */
  readonly admissionTurn: number | undefined;
}

/**
 * Claims all picks, those of each spec, in one commit, which gives back what is freed. After a conflict, brings the mirror up to date.
 * @throws BerthError `failed_precondition / foreign_consumer` when an instance's uuid is that of somebody else's consumer; `unavailable`: the store is away, and whether the claim was made is not known; asking again finds it.
 */
export async function claimAll(
  wanted: readonly WantedClaim[],
  { freed, admissionTurn }: ClaimTogether,
  caller: { readonly signal: AbortSignal },
  {
    placement,
    mirror,
    clock,
  }: { readonly placement: PlacementStore; readonly mirror: ClaimMirror; readonly clock: Clock },
): Promise<Claimed> {
  const decidedAtRevision = mirror.revision;
  const consumers = [...freed, ...wanted.flatMap((one) => writesOf(one, mirror))];
  const picks = wanted.flatMap((one) => one.picks);
  const specs = wanted.map(({ spec }) => spec);
  const terms = { kind: 'write_allocations', atMs: clock.now(), withinQuota: true, admissionTurn } as const;
  const besides = besidesOf(picks, mirror);
  const result = await placement.commit({ ...terms, consumers, ...(besides.length > 0 ? { besides } : {}) });
  return judgeCommit(result, { picks, specs, decidedAtRevision }, caller, { placement, mirror });
}

/** Consumers because of which reservations may keep less from claims of these picks. */
export function besidesOf(
  picks: readonly PickedHost[],
  mirror: Pick<ClaimMirror, keyof BesidesView>,
): readonly string[] {
  return consumersBeside(new Set(picks.flatMap(({ candidate }) => Object.keys(candidate.allocations))), mirror);
}

/** A commit: its picks, their specs, and the revision that the decision saw. */
interface Committed {
  readonly picks: readonly PickedHost[];
  readonly specs: readonly Pick<
    CompleteSpec,
    'projectId' | 'group' | 'resources' | 'requestGroups' | 'deviceRequests'
  >[];
  readonly decidedAtRevision: number;
}

/** Judges the answer to a commit of claims; after a conflict the mirror catches up. @throws as `claimAll`. */
export async function judgeCommit(
  result: CommitResult,
  { picks, specs, decidedAtRevision }: Committed,
  caller: { readonly signal: AbortSignal },
  { placement, mirror }: { readonly placement: PlacementStore; readonly mirror: ClaimMirror },
): Promise<Claimed> {
  switch (result.kind) {
    case 'committed':
      mirror.apply(result.change);
      return { kind: 'claimed', claimToken: result.claimToken };
    case 'capacity':
      mirror.applyRows({ usages: [result.usage] });
      // Others took it: the usual case, which needs no more than their row.
      if (result.usage.revision > decidedAtRevision) return { kind: 'stale' };
      return caughtUp(result);
    case 'nominated':
    case 'reserved':
    case 'group':
    case 'generation':
    case 'not_found':
      return caughtUp(result);
    case 'stale':
      // It is admitted by another's turn.
      await catchUp({ placement, mirror }, caller);
      return { kind: 'stale' };
    case 'quota': {
      await catchUp({ placement, mirror }, caller);
      // The next decision sees the same quotas and the same use, and refuses by them, unless these hosts take more than is sure.
      const takingMore = specs.some(asksDevices)
        ? takingBeyond(picks, specs, result.excess)
        : new Map<number, string>();
      return takingMore.size > 0 ? { kind: 'contradicted', hosts: takingMore } : { kind: 'stale' };
    }
    case 'owner':
      throw foreign(result.uuid);
    case 'unchanged':
    case 'exists':
    case 'in_use':
    case 'zone':
    case 'full':
      throw new BerthError('internal', 'unexpected_commit', `a claim was answered '${result.kind}'`);
  }

  /** Members, a claim or a provider that the mirror did not know: sees all that the store has seen. */
  async function caughtUp(conflict: ClaimConflict): Promise<Claimed> {
    await catchUp({ placement, mirror }, caller);
    const isStale = specs.some((spec) => wasStale(conflict, decidedAtRevision, spec, mirror));
    return isStale ? { kind: 'stale' } : { kind: 'contradicted', hosts: refusedHosts(conflict, picks) };
  }
}

/** The hosts, by their index, whose devices count for more in a quota than the filter of quotas is sure of. */
function takingBeyond(
  picks: readonly PickedHost[],
  specs: Committed['specs'],
  excess: readonly QuotaExcess[],
): ReadonlyMap<number, string> {
  const isBeyond = ({ candidate: { allocations } }: PickedHost) =>
    excess.some(({ resourceClass }) => {
      const taken = Object.values(allocations).reduce((sum, amounts) => sum + (amounts[resourceClass] ?? 0), 0);
      return taken > Math.max(...specs.map((spec) => askedOf(spec, 1)[resourceClass] ?? 0));
    });
  return new Map(picks.filter(isBeyond).map(({ host: { index } }) => [index, `quota: ${sentenceOf(excess)}`]));
}

/**
 * The writes that claim some picks. In a move the instance's holdings pass to its migration.
 *
 * @throws BerthError `failed_precondition / foreign_consumer`, `/ migration_uuid_taken`.
 */
export function writesOf(
  { picks, spec, spreadAmong, move }: WantedClaim,
  mirror: Pick<ClaimMirror, 'consumer' | 'provider'>,
): ConsumerWrite[] {
  const { projectId, userId, group, priority, isProtected, flavor, reservation, endsAtMs } = spec;
  const claims = picks.map(({ instanceUuid: consumerUuid, host: { host, aggregates }, candidate }) => {
    const { allocations, mappings } = candidate;
    const present = mirror.consumer(consumerUuid);
    if (present && !isClaimOf({ projectId }, present)) throw foreign(consumerUuid);
    const place = { host: host.name, allocations, mappings, spreadDomain: spreadDomainOf(aggregates, group) };
    const rank = { priority, isProtected, flavor: flavor?.name, reservation, endsAtMs };
    const request = { consumerUuid, projectId, userId, group, spreadAmong, ...rank, ...place };
    // A claim that does not fit the spec is replaced, but only if it is still the one that the decision saw.
    return claimWrite(request, present ? { kind: 'claim', claimToken: present.claimToken } : { kind: 'absent' });
  });
  const [pick] = picks;
  const moved = move && pick && mirror.consumer(pick.instanceUuid);
  const next = pick && { ...pick.candidate, group: claims[0]?.group };
  return moved && next ? [migrationWrite(move, moved, next, mirror), ...claims] : claims;
}

/** The domain in which a member of the group counts on a host in these aggregates. */
export function spreadDomainOf(aggregates: readonly Aggregate[], group: ServerGroup | undefined): string | undefined {
  if (group?.spread) return domainOf(aggregates, group.spread.by);
  const levels = group && bindingLevels(group);
  return levels && pathOf(aggregates, levels);
}

export function foreign(uuid: string): BerthError {
  const message = `instance uuid ${uuid} is taken: choose another`;
  return new BerthError('failed_precondition', 'foreign_consumer', message, { details: { instance_uuid: uuid } });
}

/** Waits until the mirror shows all that the store has seen. */
export async function catchUp(
  { placement, mirror }: { readonly placement: PlacementStore; readonly mirror: Pick<Mirror, 'waitFor'> },
  { signal }: { readonly signal?: AbortSignal },
): Promise<void> {
  const revision = await placement.revision();
  await mirror.waitFor(revision, { timeoutMs: CATCH_UP_MS, ...(signal ? { signal } : {}) });
}

const CATCH_UP_MS = 5_000;
