import type { Consumer } from '#libs/domain/consumer';
import { addResources, negated, type Resources } from '#libs/domain/inventory';
import { MAX_VICTIMS } from '#libs/domain/queueing/admission';
import { countedOf, type Growth, limitOf, type QuotaExcess, UNLIMITED } from '#libs/domain/quotas/quota';
import type { ProjectQuotas } from '#libs/placement/port/placement-view';
import type { Fleet } from '../../fleet/fleet';
import {
  asGroupsCanSpare,
  byImportance,
  compare,
  type FoundPreemption,
  fits,
  type HostPreemption,
  isInstance,
  type NominatedPlace,
  onHost,
  type PreemptionSearch,
  priorityOf,
  viewOf,
} from './find-preemption';
import { givenUpBy } from './lent-quota';

/** Input of a search for lent quota. */
export interface ReclaimSearch extends PreemptionSearch {
  readonly projectId: string;
  readonly fleet: Fleet;
  /** Resources and number of the instances that have no claim yet. */
  readonly asked: Resources;
  readonly instanceCount: number;
  /** Where they would go if there were no quota; undefined when there is no room for all of them. */
  readonly places: readonly NominatedPlace[] | undefined;
  /** The limits that they exceed once others have given so much back, by project. */
  readonly excessWithout: (givenBack: Growth) => readonly QuotaExcess[];
}

/**
 * Instances of the cohort that a project may evict to get back its own quota; undefined if there are none, or too few.
 * Reclaim covers only what the project needs within its own limits, only from projects
 * that hold more than theirs and only as long as they do, and only from instances of a lower priority, or of one that the
 * borrower's quota gives up (`RECLAIM_LIMIT`). (Kueue's reclaimWithinCohort: LowerPriority, and Any.)
 *
 * Where there is room on the hosts, the least important of them all go; else those on one host, in whose place one instance
 * fits.
 */
export function findReclaim(search: ReclaimSearch): FoundPreemption | undefined {
  const excess = search.excessWithout(new Map());
  if (!isWithinOwnLimits(excess, search)) return undefined;
  const borrowers = borrowing(excess, search);
  if (search.places) return anywhere(borrowers, search.places, search);
  return search.instanceCount <= search.equivalenceClass.batchSize ? onOneHost(borrowers, search) : undefined;
}

/** It is the cohort that has no more, though the project holds less than it may. */
function isWithinOwnLimits(excess: readonly QuotaExcess[], { projectId, asked, view }: ReclaimSearch): boolean {
  const used = view.quotas.usage(projectId);
  return excess.every(({ scope, resourceClass: name }) => {
    const limit = limitOf(projectId, name, view.quotas);
    return scope === 'cohort' && limit !== UNLIMITED && (used[name] ?? 0) + (asked[name] ?? 0) <= limit;
  });
}

/** Instances that hold what their projects have borrowed, and that may be taken back: the least important first. */
function borrowing(excess: readonly QuotaExcess[], { projectId, view, priority }: ReclaimSearch): readonly Consumer[] {
  const { quotas } = view;
  const lent = new Map<string, Lent>();
  const lentTo = (project: string): Lent => {
    const known = lent.get(project) ?? lentOf(project, excess, quotas);
    lent.set(project, known);
    return known;
  };
  // Others have borrowed nothing of these cohorts.
  const borrowers = new Set(excess.flatMap(({ name }) => quotas.members(name)).filter((one) => one !== projectId));
  const held = [...borrowers].flatMap((project) => [...view.consumersOf(project)].map((uuid) => view.consumer(uuid)));
  const mayGo = (one: Consumer) =>
    isInstance(one) &&
    !one.isProtected &&
    lentTo(one.projectId).size > 0 &&
    (priorityOf(one) < priority || priorityOf(one) <= givenUpBy(one.projectId, quotas));
  const consumers = asGroupsCanSpare(held.filter((one) => one !== undefined).filter(mayGo), view);
  // With each that goes its project has borrowed less, and what is its own is not taken.
  return consumers.filter((one) => {
    const left = lentTo(one.projectId);
    const given = Object.entries(countedOf(one)).filter(([name]) => (left.get(name) ?? 0) > 0);
    for (const [name, amount] of given) left.set(name, (left.get(name) as number) - amount);
    return given.length > 0;
  });
}

/** Holdings of a project beyond its limits, by lacking class. */
type Lent = Map<string, number>;

function lentOf(project: string, excess: readonly QuotaExcess[], quotas: ProjectQuotas): Lent {
  const lent: Lent = new Map();
  for (const { name: cohort, resourceClass } of excess) {
    const limit = limitOf(project, resourceClass, quotas);
    const beyond = (quotas.usage(project)[resourceClass] ?? 0) - limit;
    if (quotas.quota(project)?.cohort === cohort && limit !== UNLIMITED && beyond > 0) lent.set(resourceClass, beyond);
  }
  return lent;
}

function anywhere(
  borrowers: readonly Consumer[],
  places: readonly NominatedPlace[],
  { excessWithout, fleet, snapshot }: ReclaimSearch,
): FoundPreemption | undefined {
  const victims = new Set<Consumer>();
  // Kept as a sum: there may be thousands of borrowers.
  const givenBack = new Map<string, Resources>();
  const isEnough = () => excessWithout(givenBack).length === 0;
  for (const one of borrowers) {
    victims.add(one);
    addTo(givenBack, one, countedOf(one));
    if (isEnough()) break;
  }
  if (!isEnough()) return undefined;
  for (const kept of [...victims].toSorted(byImportance)) {
    victims.delete(kept);
    addTo(givenBack, kept, negated(countedOf(kept)));
    if (isEnough()) continue;
    victims.add(kept);
    addTo(givenBack, kept, countedOf(kept));
  }
  if (victims.size > MAX_VICTIMS) return undefined;
  const hostOf = ({ allocations }: Consumer) => snapshot.at(fleet.indexOfAllocations(allocations))?.host.name;
  const hosts = new Set([...victims].map(hostOf).filter((host) => host !== undefined));
  return { view: viewOf([...hosts], [...victims], true), places };
}

function addTo(givenBack: Map<string, Resources>, { projectId }: Consumer, amounts: Resources): void {
  givenBack.set(projectId, addResources(givenBack.get(projectId) ?? {}, amounts));
}

function onOneHost(borrowers: readonly Consumer[], search: ReclaimSearch): FoundPreemption | undefined {
  const { fleet, snapshot, constraints, excessWithout } = search;
  const byHost = new Map<number, Consumer[]>();
  for (const one of borrowers) {
    const index = fleet.indexOfAllocations(one.allocations);
    if (index !== undefined) byHost.set(index, [...(byHost.get(index) ?? []), one]);
  }
  let best: HostPreemption | undefined;
  for (const [index, leaving] of byHost) {
    const host = snapshot.at(index);
    if (host === undefined || !constraints.allows(host.index)) continue;
    const found = onHost(
      host,
      leaving.toSorted(byImportance),
      (state, left) => fits(state, search) && excessWithout(givenBackBy(left)).length === 0,
      search,
    );
    if (found && (best === undefined || compare(found, best) < 0)) best = found;
  }
  return best && { view: viewOf([best.host], best.victims, true), places: [best.place] };
}

function givenBackBy(consumers: Iterable<Consumer>): Growth {
  const givenBack = new Map<string, Resources>();
  for (const one of consumers) addTo(givenBack, one, countedOf(one));
  return givenBack;
}
