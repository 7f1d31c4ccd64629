import { ABSENT } from '../fleet/columns';
import type { ShapeWeigher } from './weigher';

/**
 * preferred_resources: prefers hosts that have free what the request would like besides what it takes.
 *
 * `BERTH_SCHEDULER_WEIGHT_PREFERRED_RESOURCES`, 4 by default. Raw: the number of preferred classes whose amount stays
 * free with the instance on the host; a class of which there is less counts in part.
 */
export const preferredResourcesWeigher: ShapeWeigher = {
  kind: 'shape',
  name: 'preferred_resources',
  prepare({ preferredResources, resources, together }, facts) {
    const liked = Object.entries(preferredResources).map(([name, amount]) => ({
      amount,
      taken: (resources[name] ?? 0) * together,
      column: facts.amounts(name),
    }));
    if (liked.length === 0) return undefined;
    return {
      lower: 0,
      upper: liked.length,
      raw({ index }) {
        let met = 0;
        for (const { amount, taken, column } of liked) {
          if (!column || column.capacity[index] === ABSENT) continue;
          met += Math.min(1, Math.max(0, ((column.free[index] as number) - taken) / amount));
        }
        return met;
      },
    };
  },
};
