import { requiredAmounts } from '../fleet/host-capacity';
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
  prepare(equivalenceClass, { freeShares, rows }) {
    // One class alone has no ratio.
    if (freeShares.length < 2) return undefined;
    const taken = requiredAmounts(equivalenceClass);
    const places = Int32Array.from(freeShares, ([name]) => rows.freeAt(name));
    const amounts = Float64Array.from(freeShares, ([name]) => taken[name] ?? 0);
    const ofFleet = Float64Array.from(freeShares, ([, share]) => share + EVEN);
    return {
      lower: -Math.sqrt(freeShares.length - 1),
      upper: 0,
      raw(host) {
        const row = rows.of(host);
        const { values } = rows;
        let [product, fleetSquare, hostSquare] = [0, 0, 0];
        for (let i = 0; i < places.length; i++) {
          const place = row + (places[i] as number);
          const perCapacity = values[place + 1] as number;
          // The host has nothing of the class.
          if (perCapacity === 0) continue;
          const rest = (values[place] as number) - (amounts[i] as number);
          const share = rest > 0 ? rest * perCapacity : 0;
          const inFleet = ofFleet[i] as number;
          product += share * inFleet;
          fleetSquare += inFleet * inFleet;
          hostSquare += share * share;
        }
        // The part of the host's vector perpendicular to the fleet's (Pythagoras).
        const square = hostSquare - (product * product) / fleetSquare;
        return square > 0 ? -Math.sqrt(square) : 0;
      },
    };
  },
};

/** Added to each of the fleet's shares: when nearly nothing is left, what little there is says nothing of a ratio. */
const EVEN = 0.05;
