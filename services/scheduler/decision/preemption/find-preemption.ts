import type { PreemptionView } from '#libs/contracts/admission';
import type { Allocations, Consumer } from '#libs/domain/consumer';
import { leastAvailable } from '#libs/domain/grouping/disruption-budget';
import { MAX_PRIORITY, MAX_VICTIMS } from '#libs/domain/queueing/admission';
import { type Random, randomInt } from '#libs/domain/random';
import { groupKey, storedGroupKey } from '#libs/domain/server-group';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { FleetSnapshot } from '../../fleet/fleet-snapshot';
import { type HostState, withClaim, withoutClaim } from '../../fleet/host-state';
import type { PendingClaim } from '../../fleet/pending-claims';
import { needsSearch, requiredOn } from '../../ranking/candidates';
import type { Judgement } from '../../ranking/judgement';
import type { RequestConstraints } from '../../ranking/request-constraints';
import { type EquivalenceClass, forBatch } from '../../request/equivalence-class';
import { harmedGroups, putBackOrder } from './harmed-groups';

/** Hosts on which others could make room, that are looked at closely: enough for a good choice (kube-scheduler's 100). */
export const MAX_DRY_RUNS = 100;

/** Metadata of a stored group none of whose members makes room (`never`). */
const NEVER_KEY = 'preemption';

/** Input of a search for preemptible capacity. */
export interface PreemptionSearch {
  readonly priority: number;
  readonly equivalenceClass: EquivalenceClass;
  readonly snapshot: FleetSnapshot;
  readonly judgement: Judgement;
  readonly constraints: RequestConstraints;
  readonly view: PlacementView;
  readonly random: Random;
}

/** Input of a search among those of lower priorities. */
export interface PrioritySearch extends PreemptionSearch {
  /** True of instances that stay, though their priority is lower. */
  readonly isSpared: (consumer: Consumer) => boolean;
}

/** The preemption found: a place for each instance that has none yet. */
export interface FoundPreemption {
  readonly view: PreemptionView;
  readonly places: readonly NominatedPlace[];
}

export interface NominatedPlace {
  readonly rootUuid: string;
  readonly allocations: Allocations;
}

/**
 * The cheapest instances of lower priorities in whose place `count` instances fit, those of each instance on one host;
 * undefined when there are none, or they are too many. Never instances that are protected, that a group's metadata keep, or
 * of another owner than Berth's conductors. One instance after the other takes the cheapest place, as if those before were
 * placed: for several that is not always the cheapest of all.
 */
export function findPreemption(search: PrioritySearch, count = 1): FoundPreemption | undefined {
  const { batchSize } = search.equivalenceClass;
  const places: NominatedPlace[] = [];
  const victims = new Map<string, Consumer>();
  const hosts = new Set<string>();
  let { snapshot, constraints } = search;
  while (places.length < count) {
    const found = onOneHost({ ...search, snapshot, constraints }, victims);
    if (found === undefined) return undefined;
    const { host, index } = found;
    hosts.add(host);
    for (const victim of found.victims) {
      victims.set(victim.uuid, victim);
      snapshot = snapshot.without(claimOf(victim, snapshot.at(index) as HostState));
    }
    for (let n = 0; n < batchSize; n++) {
      const { rootUuid, allocations } = found.place;
      places.push({ rootUuid, allocations });
      const claim = { consumerUuid: '', hostIndex: index, rootUuid, allocations, group: undefined };
      snapshot = snapshot.assume(claim);
    }
    constraints = constraints.withMembers(index, batchSize);
  }
  // Nobody has to go: it was refused for another reason than room.
  if (victims.size === 0) return undefined;
  return { view: viewOf([...hosts], [...victims.values()], false), places };
}

/** Victims in the order in which they go. */
export function viewOf(
  [host = '', ...furtherHosts]: readonly string[],
  victims: readonly Consumer[],
  reclaims: boolean,
) {
  const inOrder = victims.toSorted(byImportance).toReversed();
  return {
    host,
    furtherHosts,
    reclaims,
    victims: inOrder.map((one) => ({ instanceUuid: one.uuid, priority: priorityOf(one) })),
  };
}

/**
 * The cheapest place for one instance. On each host all who may go are taken away at first; if it fits then, they are put
 * back one after the other, those that matter most first, as long as it still fits: who is left over makes room. So no
 * smaller part of them would do. Of the hosts it is the one where the highest priority among them is lowest, then where the
 * fewest groups lose a member, then with the fewest, then with the least sum of priorities (kube-scheduler's rules in its
 * default preemption, with Nomad's bound on how many; a gang that loses one member is of no use, so few gangs should).
 *
 * @param gone  those who are to go already
 */
function onOneHost(search: PrioritySearch, gone: ReadonlyMap<string, Consumer>): HostPreemption | undefined {
  const { snapshot, random } = search;
  const harmed = harmedGroups(gone.values());
  let best: HostPreemption | undefined;
  let dryRuns = 0;
  const { length } = snapshot.hosts;
  // Not always the same hosts, where there are more than are looked at.
  const first = randomInt(random, Math.max(1, length));
  for (let n = 0; n < length && dryRuns < MAX_DRY_RUNS; n++) {
    const host = snapshot.at((first + n) % length);
    const leaving = host && search.constraints.allows(host.index) ? whoMayGo(host, search, gone) : [];
    // With several instances, one may fit into capacity freed for another.
    if (host === undefined || (leaving.length === 0 && gone.size === 0)) continue;
    dryRuns++;
    const putBack = putBackOrder(leaving.toSorted(byImportance), harmed, priorityOf);
    const found = onHost(host, putBack, (state) => fits(state, search), search);
    const isPossible = found && gone.size + found.victims.length <= MAX_VICTIMS;
    if (isPossible && (!best || compare(found, best, harmed) < 0)) best = found;
  }
  return best;
}

export interface HostPreemption {
  readonly host: string;
  readonly index: number;
  readonly victims: readonly Consumer[];
  readonly place: NominatedPlace;
}

/**
 * The fewest of `leaving` whose departure places the instance; undefined if none suffice, or too many have to go.
 *
 * @param leaving   those who matter most first: they are the first to be put back
 * @param isEnough  whether the host as it is then, and who has left by then, will do
 */
export function onHost(
  host: HostState,
  leaving: readonly Consumer[],
  isEnough: (state: HostState, left: ReadonlySet<Consumer>) => boolean,
  { equivalenceClass }: Pick<PreemptionSearch, 'equivalenceClass'>,
): HostPreemption | undefined {
  let state = leaving.reduce((one, consumer) => withoutClaim(one, claimOf(consumer, host)), host);
  const victims = new Set(leaving);
  if (!isEnough(state, victims)) return undefined;
  let staying = 0;
  for (const consumer of leaving) {
    const withIt = withClaim(state, claimOf(consumer, host));
    victims.delete(consumer);
    if (isEnough(withIt, victims)) state = withIt;
    else {
      victims.add(consumer);
      staying += 1;
    }
    if (staying > MAX_VICTIMS) return undefined;
  }
  const place = requiredOn(forBatch(equivalenceClass, 1), state);
  return place && { host: host.host.name, index: host.index, victims: [...victims], place };
}

export function fits(
  host: HostState,
  { equivalenceClass, judgement }: Pick<PreemptionSearch, 'equivalenceClass' | 'judgement'>,
): boolean {
  if (judgement.refusals(host).length > 0) return false;
  return !needsSearch(equivalenceClass, host) || requiredOn(equivalenceClass, host) !== undefined;
}

/** Those of a lower priority on a host, as many of each group as it can spare. */
function whoMayGo(
  host: HostState,
  { priority, view, isSpared }: PrioritySearch,
  gone: ReadonlyMap<string, Consumer>,
): Consumer[] {
  const lower = instancesOn(host, view).filter((one) => {
    return !gone.has(one.uuid) && !one.isProtected && priorityOf(one) < priority && !isSpared(one);
  });
  return asGroupsCanSpare(lower, view, gone.values());
}

/** The instances that hold something of a host's providers. */
export function instancesOn({ root }: HostState, view: PlacementView): Consumer[] {
  const uuids = new Set(view.tree(root.uuid).flatMap(({ uuid }) => [...view.consumersOn(uuid)]));
  const consumers = [...uuids].map((uuid) => view.consumer(uuid));
  return consumers.filter((one) => one !== undefined).filter(isInstance);
}

/** The consumers that each group can spare, least important first, given that some go already. */
export function asGroupsCanSpare(
  consumers: readonly Consumer[],
  view: PlacementView,
  gone: Iterable<Consumer> = [],
): Consumer[] {
  const spared = new Map<string, number>();
  for (const { projectId, groupId } of gone) {
    if (groupId === undefined) continue;
    const key = groupKey(projectId, groupId);
    spared.set(key, (spared.get(key) ?? sparesOf(projectId, groupId, view)) - 1);
  }
  const leastFirst = consumers.toSorted(byImportance).toReversed();
  return leastFirst.filter((one) => {
    if (one.groupId === undefined) return true;
    const key = groupKey(one.projectId, one.groupId);
    const left = spared.get(key) ?? sparesOf(one.projectId, one.groupId, view);
    spared.set(key, left - 1);
    return left > 0;
  });
}

/** False for holdings of migrations and reservations: no instance stands behind them. */
export function isInstance({ owner, consumerType }: Consumer): boolean {
  return owner === 'conductor' && consumerType === 'INSTANCE';
}

/** The number of members that a group can lose. */
function sparesOf(projectId: string, groupId: string, view: PlacementView): number {
  const { metadata = {} } = view.serverGroup(storedGroupKey(projectId, groupId)) ?? {};
  if (metadata[NEVER_KEY] === 'never') return 0;
  const { size } = view.groupMembers(groupKey(projectId, groupId));
  const least = leastAvailable(metadata, size) ?? 0;
  // An unreadable budget protects all members.
  return Number.isNaN(least) ? 0 : size - least;
}

/** The most important first: by priority, then who has been there for longest. */
export function byImportance(a: Consumer, b: Consumer): number {
  return priorityOf(b) - priorityOf(a) || a.createdAtMs - b.createdAtMs || (a.uuid < b.uuid ? -1 : 1);
}

/** Below 0 when the first is cheaper; `harmed` are groups that lose a member anyway. */
export function compare(a: HostPreemption, b: HostPreemption, harmed: ReadonlySet<string> = NO_GROUPS): number {
  const highest = ({ victims }: HostPreemption) => Math.max(-MAX_PRIORITY - 1, ...victims.map(priorityOf));
  const newlyHarmed = ({ victims }: HostPreemption) =>
    [...harmedGroups(victims)].filter((group) => !harmed.has(group)).length;
  const sum = ({ victims }: HostPreemption) => victims.reduce((all, one) => all + priorityOf(one), 0);
  return (
    highest(a) - highest(b) ||
    newlyHarmed(a) - newlyHarmed(b) ||
    a.victims.length - b.victims.length ||
    sum(a) - sum(b) ||
    (a.host < b.host ? -1 : 1)
  );
}

const NO_GROUPS: ReadonlySet<string> = new Set();

export function priorityOf({ priority = 0 }: Consumer): number {
  return priority;
}

function claimOf({ allocations, uuid: consumerUuid }: Consumer, { index: hostIndex, root }: HostState): PendingClaim {
  return { consumerUuid, hostIndex, rootUuid: root.uuid, allocations, group: undefined };
}

/** The preemption decided on, with a nominated place for each instance. */
export interface DecidedPreemption extends Pick<FoundPreemption, 'view'> {
  readonly places: ReadonlyMap<string, NominatedPlace>;
}
