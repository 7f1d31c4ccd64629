import type { CapacityRefusal, Resources } from '#libs/domain/inventory';
import type { EquivalenceClass } from '../request/equivalence-class';
import type { HostState } from './host-state';

/** Demand for a class: from one provider at once, and in all. */
export interface ClassDemand {
  readonly resourceClass: string;
  readonly atOnce: number;
  readonly inAll: number;
}

/**
 * Why a host can't give what is asked of a class, if it can't. For a flat host this is the store's own rule; where several
 * providers stand behind it, what is possible at best.
 */
export function refusalOn(
  { inventories, free, freeAtOnce }: HostState,
  { resourceClass, atOnce, inAll }: ClassDemand,
): CapacityRefusal | 'no_inventory' | undefined {
  const inventory = inventories[resourceClass];
  if (inventory === undefined) return 'no_inventory';
  if ((free[resourceClass] as number) < inAll || (freeAtOnce[resourceClass] as number) < atOnce) return 'capacity';
  if (atOnce < inventory.minUnit) return 'min_unit';
  if (atOnce > inventory.maxUnit) return 'max_unit';
  if (atOnce % inventory.stepSize !== 0) return 'step_size';
  return undefined;
}

/** By how much a host falls short of what is asked, of the classes that it has but not enough of. */
export function lacksOn(host: HostState, demands: readonly ClassDemand[]): Resources {
  const lacks: Record<string, number> = {};
  for (const demand of demands) {
    if (refusalOn(host, demand) !== 'capacity') continue;
    const { resourceClass: name, atOnce, inAll } = demand;
    lacks[name] = Math.max(inAll - (host.free[name] as number), atOnce - (host.freeAtOnce[name] as number));
  }
  return lacks;
}

/** Required amounts of a class of requests, by resource class: its own group and all others together. */
export function requiredDemands({ resources, requestGroups, batchSize }: EquivalenceClass): readonly ClassDemand[] {
  const parts = new Map<string, number[]>();
  for (const group of [resources, ...requestGroups.map((one) => one.resources)]) {
    for (const [name, amount] of Object.entries(group)) parts.set(name, [...(parts.get(name) ?? []), amount]);
  }
  return [...parts].map(([resourceClass, amounts]) => ({
    resourceClass,
    atOnce: Math.max(...amounts),
    inAll: amounts.reduce((sum, amount) => sum + amount, 0) * batchSize,
  }));
}

/** The same as amounts. */
export function requiredAmounts(equivalenceClass: EquivalenceClass): Resources {
  return Object.fromEntries(
    requiredDemands(equivalenceClass).map(({ resourceClass, inAll }) => [resourceClass, inAll]),
  );
}

/**
 * The demand of each preferred class beside the required ones. Each is met or not by itself: the whole amount, for all
 * instances of a batch.
 */
export function preferredDemands(equivalenceClass: EquivalenceClass): readonly ClassDemand[] {
  const { resources, preferredResources, batchSize } = equivalenceClass;
  const required = new Map(requiredDemands(equivalenceClass).map((demand) => [demand.resourceClass, demand.inAll]));
  return Object.entries(preferredResources).map(([resourceClass, amount]) => ({
    resourceClass,
    atOnce: (resources[resourceClass] ?? 0) + amount,
    inAll: (required.get(resourceClass) ?? 0) + amount * batchSize,
  }));
}
