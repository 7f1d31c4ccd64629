import type { FleetSnapshot } from '../fleet/fleet-snapshot';
import type { Demand } from './demand';
import { isOpen, type Prices, priceOf } from './prices';

/** Prices are stale once they moved by this part of their sum. */
const MOST_MOVED = 0.3;
/** Or once shapes without a price have this share of the demand. */
const MOST_UNPRICED = 0.005;

/**
 * The distance of a snapshot's prices from those that would hold now. Counts of what fits are kept up to date by the hosts
 * that changed, so that a look costs as much as changed since the last one, at any size of the fleet.
 *
 * Prices renewed by count are renewed too often while nothing happens, and too late when the last rooms of a shape go; and
 * each renewal makes all ranks anew. Scarce shapes make most of the sum of all prices: a few of their rooms count, thousands of
 * others do not.
 */
export class PriceDrift {
  /** Places for each shape by now. */
  private readonly fits: Float64Array;
  private readonly askedKeys: readonly string[];

  constructor(
    private readonly prices: Prices,
    private snapshot: FleetSnapshot,
  ) {
    this.fits = Float64Array.from(prices.shapes, ({ fits }) => fits);
    this.askedKeys = prices.shapes.filter(({ isAssumed }) => !isAssumed).map(({ key }) => key);
  }

  /** True if other prices would hold on this snapshot, by this demand. */
  isTooFar(snapshot: FleetSnapshot, demand: Demand): boolean {
    this.follow(snapshot);
    const { shapes } = this.prices;
    const shares = demand.sharesOf(this.askedKeys);
    let [moved, sum, unpriced] = [0, 0, 1];
    for (const [k, shape] of shapes.entries()) {
      // Shapes that are assumed come last.
      const share = shares[k] ?? shape.share;
      if (!shape.isAssumed) unpriced -= share;
      const price = priceOf(shape, share, this.fits[k] as number);
      moved += Math.abs(price - shape.price);
      sum += Math.max(price, shape.price);
    }
    return moved > MOST_MOVED * sum || unpriced > MOST_UNPRICED;
  }

  private follow(snapshot: FleetSnapshot): void {
    const { columns } = this.prices;
    this.snapshot.hosts.forEachDifference(snapshot.hosts, (_, before, now) => {
      if (before && isOpen(before)) columns.addCountsOf(before, this.fits, -1);
      if (now && isOpen(now)) columns.addCountsOf(now, this.fits);
    });
    this.snapshot = snapshot;
  }
}
