import type { Resources } from '#libs/domain/inventory';
import type { PricedShape } from '../demand/prices';
import { requiredAmounts } from '../fleet/host-capacity';
import type { ClassWeigher } from './weigher';

/**
 * headroom: prefers hosts where the instance takes least of the room for what is asked for.
 *
 * `BERTH_SCHEDULER_WEIGHT_HEADROOM`, 1 in the profile `headroom`, 0 in the others. Of each shape of requests that came lately
 * the host can take so many less afterwards, and each of them has a price: the more the shape is asked for, the larger it is and
 * the fewer the fleet can take, the dearer (`demand/prices.ts`). A place that is partly free counts in part. Raw: less than 0
 * by the sum of these prices, at worst by what the instance would cost where it breaks most.
 */
export const headroomWeigher: ClassWeigher = {
  kind: 'class',
  name: 'headroom',
  usesPrices: true,
  prepare(equivalenceClass, { shapes, costOf }) {
    if (shapes.length === 0) return undefined;
    const taken = requiredAmounts(equivalenceClass);
    const cost = costOf(taken);
    return {
      lower: -most(shapes, taken),
      upper: 0,
      raw: (host) => -cost(host),
    };
  },
};

/** An instance takes the room of no more of a shape than its largest ratio to it, rounded up. */
function most(shapes: readonly PricedShape[], taken: Resources): number {
  let sum = 0;
  for (const { resources, price } of shapes) {
    let ratio = 0;
    for (const name in resources) ratio = Math.max(ratio, (taken[name] ?? 0) / (resources[name] as number));
    sum += price * Math.ceil(ratio);
  }
  return sum;
}
