import type { ClassWeigher } from './weigher';

/**
 * preferred_traits: prefers hosts with more of the traits that the request would like.
 *
 * `BERTH_SCHEDULER_WEIGHT_PREFERRED_TRAITS`, 4 by default. Raw: how many of the preferred traits the host has.
 */
export const preferredTraitsWeigher: ClassWeigher = {
  kind: 'class',
  name: 'preferred_traits',
  prepare({ preferredTraits }) {
    if (preferredTraits.length === 0) return undefined;
    return {
      lower: 0,
      upper: preferredTraits.length,
      raw: ({ traits }) => preferredTraits.reduce((count, trait) => count + (traits.has(trait) ? 1 : 0), 0),
    };
  },
};

/**
 * preferred_resources: prefers hosts that have free what the request would like besides what it takes.
 *
 * `BERTH_SCHEDULER_WEIGHT_PREFERRED_RESOURCES`, 4 by default. Raw: the number of preferred classes whose amount stays
 * free with the instance on the host; a class of which there is less counts in part.
 */
export const preferredResourcesWeigher: ClassWeigher = {
  kind: 'class',
  name: 'preferred_resources',
  prepare({ preferredResources, resources, batchSize }) {
    const liked = Object.entries(preferredResources).map(([name, amount]) => ({
      name,
      amount,
      taken: (resources[name] ?? 0) * batchSize,
    }));
    if (liked.length === 0) return undefined;
    return {
      lower: 0,
      upper: liked.length,
      raw({ free }) {
        let met = 0;
        for (const { name, amount, taken } of liked) {
          met += Math.min(1, Math.max(0, ((free[name] ?? 0) - taken) / amount));
        }
        return met;
      },
    };
  },
};
