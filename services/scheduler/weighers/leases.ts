import type { Resources } from '#libs/domain/inventory';
import { requiredAmounts } from '../fleet/host-capacity';
import type { ClassWeigher } from './weigher';

/**
 * leases: leaves alone, as long as there is other room, what is leased to other instances for their alternates.
 *
 * `BERTH_SCHEDULER_WEIGHT_LEASES`, 4 by default: more than the free shares together, so that leased room is taken last, but
 * it is taken, for a lease costs nobody any capacity. Raw: less than 0 by the share of the leased room that would be gone,
 * of the class of which most would be.
 */
export const leasesWeigher: ClassWeigher = {
  kind: 'class',
  name: 'leases',
  prepare(equivalenceClass) {
    const taken = requiredAmounts(equivalenceClass);
    return {
      lower: -1,
      upper: 0,
      raw: ({ leased, free }) => (leased === undefined ? 0 : -shareGone(leased, free, taken)),
    };
  },
};

function shareGone(leased: Resources, free: Resources, taken: Resources): number {
  let most = 0;
  for (const name in taken) {
    const wanted = leased[name] ?? 0;
    if (wanted === 0) continue;
    const gone = wanted - ((free[name] ?? 0) - (taken[name] as number));
    most = Math.max(most, Math.min(1, gone / wanted));
  }
  return most;
}
