import { capacityOf } from '#libs/domain/inventory';
import type { HostState } from '../fleet/host-state';
import type { EquivalenceClass } from '../request/equivalence-class';
import type { Check, ClassFilter, Reason } from './filter';

/**
 * capacity: only hosts that have the amounts asked for, class by class, within the units that they give out.
 *
 * Free is `(total - reserved) * allocation_ratio` less what is allocated; `reserved` includes what workloads use that
 * Berth does not manage. Where nested or sharing providers stand behind a host this is a first sieve, and the candidate
 * search decides. Without this filter the claim still refuses what does not fit, but late. Reasons, with the class in
 * lower case: `capacity_<class>`, `no_inventory_<class>`, `min_unit_<class>`, `max_unit_<class>`, `step_size_<class>`.
 */
export const capacityFilter: ClassFilter = {
  kind: 'class',
  name: 'capacity',
  prepare: (equivalenceClass) => wanted(equivalenceClass).map(enough),
};

/** What is asked of a class: by one provider at once, and in all. */
interface Wanted {
  readonly resourceClass: string;
  readonly atOnce: number;
  readonly inAll: number;
}

function wanted({ resources, requestGroups, batchSize }: EquivalenceClass): readonly Wanted[] {
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

function enough({ resourceClass, atOnce, inAll }: Wanted): Check {
  const reason = reasonsFor(resourceClass);
  return {
    refuse({ inventories, free, freeAtOnce }) {
      const inventory = inventories[resourceClass];
      if (inventory === undefined) return reason.absent;
      if ((free[resourceClass] as number) < inAll || (freeAtOnce[resourceClass] as number) < atOnce) {
        return reason.capacity;
      }
      if (atOnce < inventory.minUnit) return reason.minUnit;
      if (atOnce > inventory.maxUnit) return reason.maxUnit;
      if (atOnce % inventory.stepSize !== 0) return reason.stepSize;
      return undefined;
    },
    describe: (host) => sentence(host, resourceClass, inAll),
  };
}

function sentence({ inventories, free }: HostState, resourceClass: string, amount: number): string {
  const inventory = inventories[resourceClass];
  if (inventory === undefined) return `wants ${amount} ${resourceClass}, the host has none`;
  const { minUnit, maxUnit, stepSize } = inventory;
  const units = `units from ${minUnit} to ${maxUnit} in steps of ${stepSize}`;
  return `wants ${amount} ${resourceClass}, ${free[resourceClass]} of ${capacityOf(inventory)} free, in ${units}`;
}

function reasonsFor(resourceClass: string) {
  const name = resourceClass.toLowerCase();
  return {
    absent: { symbol: `no_inventory_${name}`, phrase: `have no ${resourceClass}` },
    capacity: { symbol: `capacity_${name}`, phrase: `lack free ${resourceClass}` },
    minUnit: { symbol: `min_unit_${name}`, phrase: `give ${resourceClass} in larger units only` },
    maxUnit: { symbol: `max_unit_${name}`, phrase: `give ${resourceClass} in smaller units only` },
    stepSize: { symbol: `step_size_${name}`, phrase: `give ${resourceClass} in other steps only` },
  } satisfies Record<string, Reason>;
}
