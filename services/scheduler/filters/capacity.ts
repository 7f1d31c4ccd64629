import type { Amounts, FleetFacts } from '../fleet/columns';
import { ABSENT } from '../fleet/columns';
import type { HostState } from '../fleet/host-state';
import type { Shape } from '../ranking/shape';
import type { Check, Reason, ShapeFilter } from './filter';

/**
 * capacity: only hosts that have the amounts asked for, class by class, within the units that they give out.
 *
 * Free is `(total - reserved) * allocation_ratio` less what is allocated; `reserved` includes what workloads use that
 * Berth does not manage. Where nested or sharing providers stand behind a host this is a first sieve, and the candidate
 * search decides. Without this filter the claim still refuses what does not fit, but late. Reasons, with the class in
 * lower case: `capacity_<class>`, `no_inventory_<class>`, `min_unit_<class>`, `max_unit_<class>`, `step_size_<class>`.
 */
export const capacityFilter: ShapeFilter = {
  kind: 'shape',
  name: 'capacity',
  prepare: (shape, facts) => wanted(shape).map((amount) => enough(amount, facts)),
};

/** What is asked of a class: by one provider at once, and in all. */
interface Wanted {
  readonly resourceClass: string;
  readonly atOnce: number;
  readonly inAll: number;
}

function wanted({ resources, requestGroups, together }: Shape): readonly Wanted[] {
  const parts = new Map<string, number[]>();
  for (const group of [resources, ...requestGroups.map((one) => one.resources)]) {
    for (const [name, amount] of Object.entries(group)) parts.set(name, [...(parts.get(name) ?? []), amount]);
  }
  return [...parts].map(([resourceClass, amounts]) => ({
    resourceClass,
    atOnce: Math.max(...amounts),
    inAll: amounts.reduce((sum, amount) => sum + amount, 0) * together,
  }));
}

function enough({ resourceClass, atOnce, inAll }: Wanted, facts: FleetFacts): Check {
  const column = facts.amounts(resourceClass);
  const reason = reasonsFor(resourceClass);
  if (!column) return { refuse: () => reason.absent, describe: () => `wants ${resourceClass}, no host has any` };
  const { capacity, free, freeAtOnce, minUnit, maxUnit, stepSize } = column;
  return {
    refuse({ index }) {
      if (capacity[index] === ABSENT) return reason.absent;
      if ((free[index] as number) < inAll || (freeAtOnce[index] as number) < atOnce) return reason.capacity;
      if (atOnce < (minUnit[index] as number)) return reason.minUnit;
      if (atOnce > (maxUnit[index] as number)) return reason.maxUnit;
      if (atOnce % (stepSize[index] as number) !== 0) return reason.stepSize;
      return undefined;
    },
    describe: (host) => sentence(host, resourceClass, inAll, column),
  };
}

function sentence({ index }: HostState, resourceClass: string, amount: number, column: Amounts): string {
  const capacity = column.capacity[index] as number;
  if (capacity === ABSENT) return `wants ${amount} ${resourceClass}, the host has none`;
  const units = `units from ${column.minUnit[index]} to ${column.maxUnit[index]} in steps of ${column.stepSize[index]}`;
  return `wants ${amount} ${resourceClass}, ${column.free[index]} of ${capacity} free, in ${units}`;
}

function reasonsFor(resourceClass: string): Readonly<Record<Kind, Reason>> {
  const name = resourceClass.toLowerCase();
  return {
    absent: { symbol: `no_inventory_${name}`, phrase: `have no ${resourceClass}` },
    capacity: { symbol: `capacity_${name}`, phrase: `lack free ${resourceClass}` },
    minUnit: { symbol: `min_unit_${name}`, phrase: `give ${resourceClass} in larger units only` },
    maxUnit: { symbol: `max_unit_${name}`, phrase: `give ${resourceClass} in smaller units only` },
    stepSize: { symbol: `step_size_${name}`, phrase: `give ${resourceClass} in other steps only` },
  };
}

type Kind = 'absent' | 'capacity' | 'minUnit' | 'maxUnit' | 'stepSize';
