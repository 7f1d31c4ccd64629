import { ABSENT, type FleetFacts } from '../fleet/columns';
import type { Shape } from '../ranking/shape';
import type { Measure } from './weigher';

/**
 * The share of a host's capacity of one class that stays free with the instance on it, 0..1. A share and not an amount:
 * a fleet of large and small hosts fills evenly, and the bounds never move. Hosts without the class have 0.
 */
export function freeShare(
  resourceClass: string,
  { resources, together }: Shape,
  facts: FleetFacts,
): Measure | undefined {
  const column = facts.amounts(resourceClass);
  if (!column) return undefined;
  const { capacity, free } = column;
  const taken = (resources[resourceClass] ?? 0) * together;
  return {
    lower: 0,
    upper: 1,
    raw({ index }) {
      const all = capacity[index] as number;
      return all === ABSENT || all === 0 ? 0 : ((free[index] as number) - taken) / all;
    },
  };
}
