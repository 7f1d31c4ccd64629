import { capacityOf, type Inventory } from '#libs/domain/inventory';
import { type ClassDemand, refusalOn, requiredDemands } from '../fleet/host-capacity';
import type { HostState } from '../fleet/host-state';
import { askedBy } from './asked-by';
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
  prepare: (equivalenceClass) =>
    requiredDemands(equivalenceClass).map((demand) =>
      enough(demand, askedBy(equivalenceClass.origins.resources[demand.resourceClass])),
    ),
};

function enough(demand: ClassDemand, by: string): Check {
  const { resourceClass, inAll } = demand;
  const reasons = reasonsFor(resourceClass, by);
  return {
    refuse(host) {
      const refusal = refusalOn(host, demand);
      return refusal && reasons[refusal];
    },
    describe: (host) => sentence(host, resourceClass, inAll, by),
  };
}

function sentence(
  { inventories, free, reserved }: HostState,
  resourceClass: string,
  amount: number,
  by: string,
): string {
  const inventory = inventories[resourceClass];
  if (inventory === undefined) return `wants ${amount} ${resourceClass}${by}, the host has none`;
  const capacity = capacityOf(inventory);
  const kept = reserved?.amounts[resourceClass] ?? 0;
  const besides = kept > 0 ? ` beside ${kept} kept ${reserved?.by}` : '';
  return `wants ${amount} ${resourceClass}${by}, ${free[resourceClass]} of ${capacity} free${besides}${unitsOf(inventory, capacity)}`;
}

/** The units of an inventory; '' where every whole amount up to its capacity is one. */
function unitsOf({ minUnit, maxUnit, stepSize }: Inventory, capacity: number): string {
  if (minUnit === 1 && stepSize === 1 && maxUnit >= capacity) return '';
  return `, in units from ${minUnit} to ${Math.min(maxUnit, capacity)} in steps of ${stepSize}`;
}

function reasonsFor(resourceClass: string, by: string) {
  const name = resourceClass.toLowerCase();
  return {
    no_inventory: { symbol: `no_inventory_${name}`, phrase: `have no ${resourceClass}${by}` },
    capacity: { symbol: `capacity_${name}`, phrase: `lack free ${resourceClass}${by}` },
    min_unit: { symbol: `min_unit_${name}`, phrase: `give ${resourceClass} in larger units only${by}` },
    max_unit: { symbol: `max_unit_${name}`, phrase: `give ${resourceClass} in smaller units only${by}` },
    step_size: { symbol: `step_size_${name}`, phrase: `give ${resourceClass} in other steps only${by}` },
  } satisfies Record<string, Reason>;
}
