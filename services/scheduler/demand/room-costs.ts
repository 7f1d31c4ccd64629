import type { RoomCost } from '#libs/contracts/diagnosis';
import { requiredAmounts } from '../fleet/host-capacity';
import type { HostState } from '../fleet/host-state';
import type { EquivalenceClass } from '../request/equivalence-class';
import type { Prices } from './prices';
import { lossOf } from './shape';

const MOST_SHOWN = 5;
const NONE: readonly RoomCost[] = [];

/** Which later requests an instance on a host costs: the shapes of which fewer fit then, the dearest first. */
export function roomCosts(
  { free }: HostState,
  equivalenceClass: EquivalenceClass,
  prices: Prices,
): readonly RoomCost[] {
  // As for every host of a decision that is kept.
  if (prices.shapes.length === 0) return NONE;
  const taken = requiredAmounts(equivalenceClass);
  const costs: RoomCost[] = [];
  for (const shape of prices.shapes) {
    const fewer = lossOf(shape, free, taken);
    if (fewer > 0) costs.push({ resources: shape.resources, fewer, fits: shape.fits, cost: fewer * shape.price });
  }
  return costs.sort((a, b) => b.cost - a.cost).slice(0, MOST_SHOWN);
}
