import type { Allocations, Consumer } from '../consumer';
import { addResources, type Resources } from '../inventory';

/** Allocations and counted amounts of a migration's consumer; the instance itself holds those at its destination. */
export type KeptForMove = Required<Pick<Consumer, 'allocations' | 'counted'>>;

/**
 * The allocations kept for a revert while an instance that held `left` holds `next`.
 *
 * On another host that is all of `left`. In place the two sides are one copy, which never has both sizes: only the
 * amounts that `next` lacks of `left` are kept. So the larger side of each class is held, and confirm and revert only
 * release. For the quota a move counts once, as its larger side, on any host.
 */
export function keptForMove(left: Allocations, next: Allocations, isInPlace: boolean): KeptForMove {
  const counted = beyond(sumOf(left), sumOf(next));
  if (!isInPlace) return { allocations: left, counted };
  const kept: Record<string, Resources> = {};
  for (const [uuid, resources] of Object.entries(left)) {
    const lacking = beyond(resources, next[uuid] ?? {});
    if (Object.keys(lacking).length > 0) kept[uuid] = lacking;
  }
  return { allocations: kept, counted };
}

/** The sum of two consumers' allocations. */
export function heldTogether(a: Allocations, b: Allocations): Allocations {
  const all: Record<string, Resources> = { ...a };
  for (const [uuid, resources] of Object.entries(b)) all[uuid] = addResources(all[uuid] ?? {}, resources);
  return all;
}

/** The positive differences, class by class. */
function beyond(more: Resources, less: Resources): Resources {
  const left = Object.entries(more).map(([name, amount]) => [name, amount - (less[name] ?? 0)] as const);
  return Object.fromEntries(left.filter(([, amount]) => amount > 0));
}

function sumOf(allocations: Allocations): Resources {
  return Object.values(allocations).reduce(addResources, {});
}
