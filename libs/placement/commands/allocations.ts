import type { Consumer } from '../../domain/consumer';
import { type CapacityRefusal, type Inventories, type Inventory, MAX_AMOUNT, refusalOf } from '../../domain/inventory';
import { isNodeClass } from '../../domain/nodes/node';
import { excessOf, type Growth, type Quota } from '../../domain/quotas/quota';
import {
  type GroupDomain,
  groupKey,
  isForbidden,
  isSkewed,
  type KeptPlace,
  type Membership,
} from '../../domain/server-group';
import type { ConsumerWrite, RefusedCommit } from '../port/placement-store';
import { isCustom } from './catalogue';
import { grownUsages, growthOf, namedExcess, quotaStateOf } from './project-usage';
import { type ConsumerBody, counters, type NominatedRoom, type Stored, type Tables } from './tables';
import type { Write } from './transaction';

/** What the decision reads, synchronously, so that nothing changes under it. */
export interface AllocationState {
  consumer(uuid: string): Consumer | undefined;
  usage(providerUuid: string): Stored<Tables['usage']> | undefined;
  /** Undefined when there is no such provider. */
  inventories(providerUuid: string): Inventories | undefined;
  count(name: string): number;
  hasClass(name: string): boolean;
  /** What is nominated on a provider. */
  nominated(providerUuid: string): NominatedRoom | undefined;
  /** By project key, as the following. */
  quota(project: string): Quota | undefined;
  projectUsage(project: string): Tables['project_usage'] | undefined;
  cohort(name: string): readonly string[];
}

/** The rows as they will be. Consumers that hold nothing any more are undefined. */
export interface AllocationPlan {
  readonly kind: 'plan';
  readonly consumers: ReadonlyMap<string, Consumer | undefined>;
  readonly usages: ReadonlyMap<string, Tables['usage']>;
  readonly counts: ReadonlyMap<string, number>;
  readonly projects: ReadonlyMap<string, Tables['project_usage']>;
}

export interface AllocationTerms {
  readonly atMs: number;
  /** Takes what does not fit, and where a group's policy forbids. */
  readonly force: boolean;
  /** Of what is forced, refuses what no provider can have run. */
  readonly withinTotal?: boolean;
  /** Refuses what would exceed a quota, unless forced. */
  readonly withinQuota: boolean;
}

/**
 * Decides one `write_allocations`: all of it, or why not. `lua/claim.lua` states the same for Redis; the contract suite
 * runs both on the same random commands.
 *
 * In order: owners and guards of all consumers; quotas; what they hold is released; then consumer by consumer, provider by provider and class
 * by class what they take is checked and taken, and the consumer's group is checked. A provider that is over its
 * capacity takes what, over the whole command, is no more than before. Of what makes it more, a conductor's write leaves the room that
 * is nominated for others of its priority or a higher one. `writes` have been through `checkedWrites`.
 */
export function decideAllocations(
  state: AllocationState,
  writes: readonly ConsumerWrite[],
  terms: AllocationTerms,
): AllocationPlan | RefusedCommit {
  const olds = writes.map((write) => state.consumer(write.uuid));
  for (const [i, write] of writes.entries()) {
    const refusal = refusalOfOwner(write, olds[i]) ?? refusalOfGuard(write, olds[i]);
    if (refusal) return refusal;
  }
  if (writes.every((write, i) => olds[i] === undefined && isEmpty(write))) return { kind: 'unchanged' };
  const growth = growthOf(writes, olds);
  const overQuota = terms.withinQuota && !terms.force ? refusalOfQuota(growth, state) : undefined;
  if (overQuota) return overQuota;
  const tally = new Tally(state, terms, new Set(writes.map(({ uuid }) => uuid)));
  for (const [i, old] of olds.entries()) if (old) tally.release(old, writes[i]?.raisesReleased);
  for (const write of writes) tally.expectGrowth(write);
  for (const write of writes) {
    const refusal = tally.take(write);
    if (refusal) return refusal;
  }
  tally.keepPlaces();
  const consumers = new Map(writes.map((write, i) => [write.uuid, nextConsumer(write, olds[i], terms.atMs)]));
  const projects = grownUsages(growth, state, terms.atMs);
  return { kind: 'plan', consumers, usages: tally.usages(), counts: tally.counts, projects };
}

const ANY_UNIT = { minUnit: 1, maxUnit: MAX_AMOUNT, stepSize: 1 };

function refusalOfQuota(growth: Growth, state: AllocationState): RefusedCommit | undefined {
  const excess = excessOf(growth, quotaStateOf(state));
  return excess.length === 0 ? undefined : { kind: 'quota', excess: namedExcess(excess) };
}

/** What a command has released and taken so far. */
class Tally {
  /** Amounts now, by provider and class: `providerUuid CLASS`. */
  private readonly used = new Map<string, Record<string, number>>();
  /** By how much each class of a provider is more than before the command. */
  private readonly growth = new Map<string, number>();
  private readonly raised = new Set<string>();
  /** Of affinity groups that leave their host in this command, as one: they do not hold one another back. */
  private readonly keptLast: MemberCounters[] = [];
  readonly counts = new Map<string, number>();

  constructor(
    private readonly state: AllocationState,
    private readonly terms: AllocationTerms,
    /** The consumers of the command: what is nominated for them is theirs. */
    private readonly own: ReadonlySet<string>,
  ) {}

  release(old: Consumer, raises = false): void {
    for (const [providerUuid, resources] of Object.entries(old.allocations)) {
      if (raises) this.raised.add(providerUuid);
      for (const [resourceClass, amount] of Object.entries(resources)) {
        this.add(providerUuid, resourceClass, -amount);
        this.grow(providerUuid, resourceClass, -amount);
      }
    }
    const membership = membershipOf(old);
    if (membership) this.leave(membership);
  }

  expectGrowth(write: ConsumerWrite): void {
    for (const [providerUuid, resources] of Object.entries(write.allocations)) {
      for (const [resourceClass, amount] of Object.entries(resources)) this.grow(providerUuid, resourceClass, amount);
    }
  }

  take(write: ConsumerWrite): RefusedCommit | undefined {
    for (const [providerUuid, resources] of Object.entries(write.allocations)) {
      const inventories = this.state.inventories(providerUuid);
      if (!inventories) return { kind: 'not_found', subject: 'provider', key: providerUuid };
      this.raised.add(providerUuid);
      const [first] = Object.keys(resources);
      if (first !== undefined && this.isTakenNode(providerUuid, inventories)) {
        const usage = this.present(providerUuid);
        return { kind: 'capacity', providerUuid, resourceClass: first, refusal: 'capacity', usage };
      }
      for (const [resourceClass, amount] of Object.entries(resources)) {
        const refusal = this.takeClass(write, providerUuid, inventories, resourceClass, amount);
        if (refusal) return refusal;
      }
    }
    return isEmpty(write) ? undefined : this.takeMembership(write);
  }

  usages(): Map<string, Tables['usage']> {
    const next = new Map<string, Tables['usage']>();
    for (const [uuid, amounts] of this.used) {
      const generation = this.state.usage(uuid)?.row.generation ?? 0;
      const used = Object.fromEntries(Object.entries(amounts).filter(([, amount]) => amount !== 0));
      next.set(uuid, { generation: generation + (this.raised.has(uuid) ? 1 : 0), used });
    }
    return next;
  }

  private takeClass(
    write: ConsumerWrite,
    providerUuid: string,
    inventories: Inventories,
    resourceClass: string,
    amount: number,
  ): RefusedCommit | undefined {
    const whole = inventories[resourceClass];
    // A part of an earlier claim may be of any size.
    const inv = whole && write.counted ? { ...whole, ...ANY_UNIT } : whole;
    if (!inv) {
      const isUnknown = isCustom(resourceClass) && !this.state.hasClass(resourceClass);
      if (isUnknown) return { kind: 'not_found', subject: 'resource_class', key: resourceClass };
      return { kind: 'not_found', subject: 'inventory', key: `${providerUuid} ${resourceClass}` };
    }
    const refusal = this.refusalOfAmount(inv, this.usedOf(providerUuid)[resourceClass] ?? 0, amount);
    const isNoWorse = (this.growth.get(`${providerUuid} ${resourceClass}`) ?? 0) <= 0;
    if (refusal && !(refusal === 'capacity' && isNoWorse)) {
      return { kind: 'capacity', providerUuid, resourceClass, refusal, usage: this.present(providerUuid) };
    }
    if (!isNoWorse && !this.terms.force && this.isNominated(write, providerUuid, inv, resourceClass, amount)) {
      return { kind: 'nominated', providerUuid, resourceClass };
    }
    this.add(providerUuid, resourceClass, amount);
    return undefined;
  }

  private refusalOfAmount(inv: Inventory, used: number, amount: number): CapacityRefusal | undefined {
    const { force, withinTotal = false } = this.terms;
    if (!force) return refusalOf(inv, used, amount);
    return withinTotal ? refusalOf({ ...inv, ...ANY_UNIT, reserved: 0 }, used, amount) : undefined;
  }

  /** Whether another consumer has some of a node of bare metal: it is one consumer's, whatever it shows of itself. */
  private isTakenNode(providerUuid: string, inventories: Inventories): boolean {
    if (this.terms.force || !Object.keys(inventories).some(isNodeClass)) return false;
    return Object.values(this.usedOf(providerUuid)).some((amount) => amount > 0);
  }

  /** Whether what is left would be too little for those for whom others make room. */
  private isNominated(
    { owner, priority = 0 }: ConsumerWrite,
    providerUuid: string,
    inv: Inventory,
    resourceClass: string,
    amount: number,
  ): boolean {
    const room = owner === 'conductor' ? this.state.nominated(providerUuid) : undefined;
    if (room === undefined) return false;
    let kept = 0;
    for (const [uuid, one] of Object.entries(room)) {
      const isBefore = one.priority >= priority && one.untilMs > this.terms.atMs && !this.own.has(uuid);
      if (isBefore && this.state.consumer(uuid) === undefined) kept += one.resources[resourceClass] ?? 0;
    }
    const used = this.usedOf(providerUuid)[resourceClass] ?? 0;
    return kept > 0 && refusalOf(inv, used + kept, amount) === 'capacity';
  }

  private takeMembership({ projectId, group: membership }: ConsumerWrite): RefusedCommit | undefined {
    if (!membership) return undefined;
    const { group, host, kept } = membership;
    const key = groupKey(projectId, group.id);
    if (kept) {
      const place = keptCounters(key, host, domainOf(membership), kept);
      if (group.policy === 'affinity') this.keptLast.push(place);
      else this.count(place, 1);
      return undefined;
    }
    const [present, old] = memberCounters(projectId, group.id, host, domainOf(membership));
    const found = {
      members: this.countOf(present.all) + this.countOf(old.all),
      here: this.countOf(present.here) + this.countOf(old.here),
      kept: this.countOf(counters.keptOf(key)),
      keptHere: this.countOf(counters.keptOn(key, host)),
    };
    const isRefused = isForbidden(group, found) || this.isSkewed(key, membership);
    if (!this.terms.force && isRefused) return { kind: 'group', groupId: group.id, host };
    this.count(present, 1);
    return undefined;
  }

  keepPlaces(): void {
    for (const place of this.keptLast) this.count(place, 1);
  }

  private isSkewed(key: string, { group, spread }: Membership): boolean {
    if (!group.spread) return false;
    const { by } = group.spread;
    const countsIn = (domain: string) => {
      const members = this.countOf(counters.membersIn(key, { by, domain }));
      const kept = this.countOf(counters.keptIn(key, { by, domain }));
      return { most: members + kept, least: members - this.countOf(counters.passingIn(key, { by, domain })) };
    };
    return !spread || isSkewed(group.spread, spread, countsIn);
  }

  private leave([present, old]: readonly [MemberCounters, MemberCounters?]): void {
    this.count(old && this.countOf(present.here) === 0 ? old : present, -1);
  }

  private present(providerUuid: string) {
    const usage = this.state.usage(providerUuid);
    const row = usage?.row ?? { generation: 0, used: {} };
    return { providerUuid, ...row, revision: usage?.revision ?? 0 };
  }

  private usedOf(providerUuid: string): Record<string, number> {
    let used = this.used.get(providerUuid);
    if (!used) this.used.set(providerUuid, (used = { ...this.state.usage(providerUuid)?.row.used }));
    return used;
  }

  private add(providerUuid: string, resourceClass: string, amount: number): void {
    const used = this.usedOf(providerUuid);
    used[resourceClass] = (used[resourceClass] ?? 0) + amount;
  }

  private grow(providerUuid: string, resourceClass: string, amount: number): void {
    const key = `${providerUuid} ${resourceClass}`;
    this.growth.set(key, (this.growth.get(key) ?? 0) + amount);
  }

  private countOf(name: string): number {
    return this.state.count(name) + (this.counts.get(name) ?? 0);
  }

  private count(member: MemberCounters, by: number): void {
    for (const name of namesOf(member)) this.counts.set(name, (this.counts.get(name) ?? 0) + by);
  }
}

/** The names of what counts a group's members, or kept places: all of them, those on one host, and those in domains. */
interface MemberCounters {
  readonly all: string;
  readonly here: string;
  readonly inDomains?: readonly string[] | undefined;
}

/** Of a group on a host: the counters of its members, and of those that claimed before 0.2. */
function memberCounters(
  projectId: string,
  groupId: string,
  host: string,
  domain: GroupDomain | undefined,
): readonly [present: MemberCounters, old: MemberCounters] {
  const key = groupKey(projectId, groupId);
  const inDomains = domain && [counters.membersIn(key, domain)];
  return [
    { all: counters.membersOf(key), here: counters.membersOn(key, host), inDomains },
    { all: counters.oldMembersOf(groupId), here: counters.oldMembersOn(groupId, host) },
  ];
}

/** Of a place that is kept. A member that moves within its domain counts there whatever becomes of the move. */
function keptCounters(
  key: string,
  host: string,
  domain: GroupDomain | undefined,
  { movedTo }: KeptPlace,
): MemberCounters {
  const isCertain = domain === undefined || domain.domain === movedTo;
  const left = isCertain ? [] : [counters.keptIn(key, domain)];
  const entered = isCertain || movedTo === '' ? [] : [counters.passingIn(key, { by: domain.by, domain: movedTo })];
  return { all: counters.keptOf(key), here: counters.keptOn(key, host), inDomains: [...left, ...entered] };
}

function namesOf({ all, here, inDomains = [] }: MemberCounters): readonly string[] {
  return [all, here, ...inDomains];
}

/** The counters that say whether a write may join its group. */
export function countersOfWrite({ projectId, group: membership }: ConsumerWrite): readonly string[] {
  if (!membership) return [];
  const { group, host, spread, kept } = membership;
  const key = groupKey(projectId, group.id);
  const domain = domainOf(membership);
  if (kept) return namesOf(keptCounters(key, host, domain, kept));
  const by = group.spread?.by;
  const domains =
    by === undefined || !spread ? [] : [spread.domain, ...spread.among].map((one) => ({ by, domain: one }));
  return [
    ...memberCounters(projectId, group.id, host, domain).flatMap(namesOf),
    counters.keptOf(key),
    counters.keptOn(key, host),
    ...domains.flatMap((one) =>
      [counters.membersIn, counters.keptIn, counters.passingIn].map((name) => name(key, one)),
    ),
  ];
}

/** The counters in which a consumer counts. */
export function countersOfMember(consumer: Consumer): readonly string[] {
  return membershipOf(consumer)?.flatMap((one) => (one ? namesOf(one) : [])) ?? [];
}

function membershipOf({
  projectId,
  groupId,
  groupHost,
  groupDomain,
  groupKept,
}: Consumer): readonly [MemberCounters, MemberCounters?] | undefined {
  if (groupId === undefined || groupHost === undefined) return undefined;
  if (groupKept) return [keptCounters(groupKey(projectId, groupId), groupHost, groupDomain, groupKept)];
  return memberCounters(projectId, groupId, groupHost, groupDomain);
}

/**
 * What somebody else looks after stays as it is, whatever the guard. So does what a conductor's write takes for another kind of consumer
 * than it is, or for another project's; a release may leave out the project.
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

function nextConsumer(write: ConsumerWrite, old: Consumer | undefined, atMs: number): Consumer | undefined {
  if (isEmpty(write)) return undefined;
  return {
    ...bodyOf(write, atMs),
    uuid: write.uuid,
    generation: (old?.generation ?? 0) + 1,
    // Assigned by the commit.
    claimToken: 0,
    createdAtMs: old?.createdAtMs ?? atMs,
  };
}

/** The part of a consumer's row that the write decides. Field by field, because every claim passes here. */
export function bodyOf(write: ConsumerWrite, updatedAtMs: number): ConsumerBody {
  const { projectId, userId, consumerType, owner, allocations, mappings, group: membership } = write;
  const body = {
    projectId,
    userId,
    consumerType,
    owner,
    allocations,
    mappings,
    groupId: membership?.group.id,
    groupHost: membership?.host,
    groupDomain: membership && domainOf(membership),
    updatedAtMs,
  };
  const { priority = 0, isProtected = false, counted } = write;
  // Few say so: the others keep the objects of one layout.
  const kept = membership?.kept && { groupKept: membership.kept };
  const ranked = priority === 0 && !isProtected && !kept ? body : { ...body, priority, isProtected, ...kept };
  return counted ? { ...ranked, counted } : ranked;
}

/** The domain that a member counts for. */
function domainOf({ group, spread }: Membership): GroupDomain | undefined {
  return group.spread && spread && { by: group.spread.by, domain: spread.domain };
}

/** Whether the consumer is to hold nothing any more. */
export function isEmpty({ allocations }: Pick<ConsumerWrite, 'allocations'>): boolean {
  for (const _ in allocations) return false;
  return true;
}

/** A decided plan as writes of one commit. */
export function planWrites(plan: AllocationPlan, state: AllocationState): Write[] {
  const writes: Write[] = [];
  for (const [key, row] of plan.consumers) {
    if (row) writes.push({ kind: 'claim', key, row });
    else if (state.consumer(key)) writes.push({ kind: 'delete', table: 'consumer', key });
  }
  for (const [key, row] of plan.usages) writes.push({ kind: 'put', table: 'usage', key, row });
  for (const [name, by] of plan.counts) writes.push({ kind: 'count', name, by });
  for (const [key, row] of plan.projects) writes.push({ kind: 'put', table: 'project_usage', key, row });
  return writes;
}
