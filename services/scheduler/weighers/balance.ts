import { capacityOf } from '#libs/domain/inventory';
import { requiredAmounts } from '../fleet/host-capacity';
import type { HostState } from '../fleet/host-state';
import type { ClassWeigher } from './weigher';

/**
 * balance: prefers hosts on which the instance leaves the resource classes free in the ratio in which the fleet has them
 * free, so that none is stranded beside another that is used up.
 *
 * `BERTH_SCHEDULER_WEIGHT_BALANCE`, 0.1 in the profile `headroom`, 0 in the others. Of the classes that were asked for lately
 * and that the host has, its free shares, the instance counted as placed, make one vector and those of the fleet another
 * (`Prices.freeShares`). Raw: less than 0 by the length of what of the first is perpendicular to the second, at worst by the
 * root of one less than the number of classes: no host is farther from the fleet's ratio, whatever it is.
 */
export const balanceWeigher: ClassWeigher = {
  kind: 'class',
  name: 'balance',
  usesPrices: true,
  prepare(equivalenceClass, { freeShares }) {
    // Of one class alone there is no ratio.
    if (freeShares.length < 2) return undefined;
    const taken = requiredAmounts(equivalenceClass);
    const parts = freeShares.map(([name, share]) => ({ name, taken: taken[name] ?? 0, share: share + EVEN }));
    const ofHost = new Float64Array(freeShares.length);
    const ofFleet = new Float64Array(freeShares.length);
    return {
      lower: -Math.sqrt(freeShares.length - 1),
      upper: 0,
      raw(host) {
        let count = 0;
        for (const part of parts) {
          const left = shareLeft(host, part.name, part.taken);
          if (left === undefined) continue;
          ofHost[count] = left;
          ofFleet[count] = part.share;
          count += 1;
        }
        return -perpendicular(ofHost, ofFleet, count);
      },
    };
  },
};

/** Added to each of the fleet's shares: when nearly nothing is left, what little there is says nothing of a ratio. */
const EVEN = 0.05;

/** 0 to 1; undefined when the host has nothing of the class. */
function shareLeft({ inventories, free }: HostState, name: string, taken: number): number | undefined {
  const inventory = inventories[name];
  const capacity = inventory === undefined ? 0 : capacityOf(inventory);
  return capacity <= 0 ? undefined : Math.max(0, (free[name] ?? 0) - taken) / capacity;
}

/** The length of what of a vector stands perpendicular to another, both of so many numbers. */
function perpendicular(vector: Float64Array, to: Float64Array, count: number): number {
  let [product, square] = [0, 0];
  for (let i = 0; i < count; i++) {
    product += (vector[i] as number) * (to[i] as number);
    square += (to[i] as number) ** 2;
  }
  let sum = 0;
  const along = product / square;
  for (let i = 0; i < count; i++) sum += ((vector[i] as number) - along * (to[i] as number)) ** 2;
  return Math.sqrt(sum);
}
