import type { PreemptionView } from '#libs/contracts/messages';
import type { Consumer } from '#libs/domain/consumer';
import { MAX_VICTIMS } from '#libs/domain/queueing/admission';
import { type Random, randomInt } from '#libs/domain/random';
import { groupKey, storedGroupKey } from '#libs/domain/server-group';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { FleetSnapshot } from '../fleet/fleet-snapshot';
import { type HostState, withClaim, withoutClaim } from '../fleet/host-state';
import type { PendingClaim } from '../fleet/pending-claims';
import { needsSearch, requiredOn } from '../ranking/candidates';
import type { Judgement } from '../ranking/judgement';
import type { RequestConstraints } from '../ranking/request-constraints';
import type { EquivalenceClass } from '../request/equivalence-class';

/** Hosts on which others could make room, that are looked at closely: enough for a good choice (kube-scheduler's 100). */
const MAX_DRY_RUNS = 100;
/** Metadata of a stored group none of whose members makes room (`never`). */
const NEVER_KEY = 'preemption';
/** And of one of which so many members stay, at least: a disruption budget. */
const MIN_AVAILABLE_KEY = 'min_available';

/** What a search for room that others could make goes by. */
export interface PreemptionSearch {
  readonly priority: number;
  readonly equivalenceClass: EquivalenceClass;
  readonly snapshot: FleetSnapshot;
  readonly judgement: Judgement;
  readonly constraints: RequestConstraints;
  readonly view: PlacementView;
  readonly random: Random;
}

/**
 * The cheapest instances of lower priorities, all on one host, in whose place one instance fits; undefined when there are none.
 * Never instances that are protected, that a group's metadata keep, or of another owner than Berth's conductors.
 *
 * On each host all who may go are taken away at first; if it fits then, they are put back one after the other, those that
 * matter most first, as long as it still fits: who is left over makes room. So no smaller part of them would do. Of the
 * hosts it is the one where the highest priority among them is lowest, then with the fewest, then with the least sum of
 * priorities (kube-scheduler's rules in its default preemption, with Nomad's bound on how many).
 */
export function findPreemption(search: PreemptionSearch): PreemptionView | undefined {
  const { snapshot, random } = search;
  let best: HostPreemption | undefined;
  let dryRuns = 0;
  const { length } = snapshot.hosts;
  // Not always the same hosts, where there are more than are looked at.
  const first = randomInt(random, Math.max(1, length));
  for (let n = 0; n < length && dryRuns < MAX_DRY_RUNS; n++) {
    const host = snapshot.at((first + n) % length);
    const leaving = host && search.constraints.allows(host.index) ? whoMayGo(host, search) : [];
    if (host === undefined || leaving.length === 0) continue;
    dryRuns++;
    const found = onHost(host, leaving, search);
    if (found && (best === undefined || compare(found, best) < 0)) best = found;
  }
  if (best === undefined) return undefined;
  const victims = best.victims.toSorted(byImportance).toReversed();
  return {
    host: best.host,
    victims: victims.map((one) => ({ instanceUuid: one.uuid, priority: priorityOf(one) })),
  };
}

interface HostPreemption {
  readonly host: string;
  readonly victims: readonly Consumer[];
}

function onHost(host: HostState, leaving: readonly Consumer[], search: PreemptionSearch): HostPreemption | undefined {
  let state = leaving.reduce((one, consumer) => withoutClaim(one, claimOf(consumer, host)), host);
  if (!fits(state, search)) return undefined;
  const victims: Consumer[] = [];
  for (const consumer of leaving.toSorted(byImportance)) {
    const withIt = withClaim(state, claimOf(consumer, host));
    if (fits(withIt, search)) state = withIt;
    else victims.push(consumer);
    if (victims.length > MAX_VICTIMS) return undefined;
  }
  return victims.length === 0 ? undefined : { host: host.host.name, victims };
}

function fits(host: HostState, { equivalenceClass, judgement }: PreemptionSearch): boolean {
  if (judgement.refusals(host).length > 0) return false;
  return !needsSearch(equivalenceClass, host) || requiredOn(equivalenceClass, host) !== undefined;
}

/** Those of a lower priority on a host, as many of each group as it can spare. */
function whoMayGo(host: HostState, { priority, view }: PreemptionSearch): Consumer[] {
  const uuids = new Set(view.tree(host.root.uuid).flatMap(({ uuid }) => [...view.consumersOn(uuid)]));
  const lower = [...uuids]
    .map((uuid) => view.consumer(uuid))
    .filter((one) => one !== undefined)
    .filter((one) => one.owner === 'conductor' && !one.isProtected && priorityOf(one) < priority)
    .toSorted(byImportance)
    .toReversed();
  const spared = new Map<string, number>();
  return lower.filter((one) => {
    if (one.groupId === undefined) return true;
    const key = groupKey(one.projectId, one.groupId);
    const left = spared.get(key) ?? sparesOf(one.projectId, one.groupId, view);
    spared.set(key, left - 1);
    return left > 0;
  });
}

/** How many members a group can do without. */
function sparesOf(projectId: string, groupId: string, view: PlacementView): number {
  const { metadata = {} } = view.serverGroup(storedGroupKey(projectId, groupId)) ?? {};
  if (metadata[NEVER_KEY] === 'never') return 0;
  const least = Number(metadata[MIN_AVAILABLE_KEY] ?? 0);
  // What can not be read protects.
  return Number.isFinite(least) ? view.groupMembers(groupKey(projectId, groupId)).size - least : 0;
}

/** The most important first: by priority, then who has been there for longest. */
function byImportance(a: Consumer, b: Consumer): number {
  return priorityOf(b) - priorityOf(a) || a.createdAtMs - b.createdAtMs || (a.uuid < b.uuid ? -1 : 1);
}

/** Below 0 when the first is cheaper. */
function compare(a: HostPreemption, b: HostPreemption): number {
  const highest = ({ victims }: HostPreemption) => Math.max(...victims.map(priorityOf));
  const sum = ({ victims }: HostPreemption) => victims.reduce((all, one) => all + priorityOf(one), 0);
  return (
    highest(a) - highest(b) || a.victims.length - b.victims.length || sum(a) - sum(b) || (a.host < b.host ? -1 : 1)
  );
}

function priorityOf({ priority = 0 }: Consumer): number {
  return priority;
}

function claimOf({ allocations, uuid: consumerUuid }: Consumer, { index: hostIndex, root }: HostState): PendingClaim {
  return { consumerUuid, hostIndex, rootUuid: root.uuid, allocations, group: undefined };
}
