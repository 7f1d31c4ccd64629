import { preferredDemands, refusalOn } from '../fleet/host-capacity';
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
 * preferred_resources: prefers hosts where more of what the request would like is claimed besides what it requires.
 *
 * `BERTH_SCHEDULER_WEIGHT_PREFERRED_RESOURCES`, 4 by default. Raw: the number of preferred classes that an instance takes
 * there, each with its whole amount.
 */
export const preferredResourcesWeigher: ClassWeigher = {
  kind: 'class',
  name: 'preferred_resources',
  prepare(equivalenceClass) {
    const demands = preferredDemands(equivalenceClass);
    if (demands.length === 0) return undefined;
    return {
      lower: 0,
      upper: demands.length,
      raw(host, found) {
        if (found) return found.length;
        let met = 0;
        for (const demand of demands) if (refusalOn(host, demand) === undefined) met += 1;
        return met;
      },
    };
  },
};
