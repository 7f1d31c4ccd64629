import type { ShapeWeigher } from './weigher';

/**
 * preferred_traits: prefers hosts with more of the traits that the request would like.
 *
 * `BERTH_SCHEDULER_WEIGHT_PREFERRED_TRAITS`, 4 by default. Raw: how many of the preferred traits the host has.
 */
export const preferredTraitsWeigher: ShapeWeigher = {
  kind: 'shape',
  name: 'preferred_traits',
  prepare({ preferredTraits }, facts) {
    if (preferredTraits.length === 0) return undefined;
    const sets = preferredTraits.map((trait) => facts.withTrait(trait));
    return {
      lower: 0,
      upper: sets.length,
      raw: ({ index }) => sets.reduce((count, set) => count + (set.has(index) ? 1 : 0), 0),
    };
  },
};
