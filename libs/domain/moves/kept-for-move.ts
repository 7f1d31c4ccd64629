import type { Allocations, Consumer } from '../consumer';
import { addResources, type Resources } from '../inventory';

/** What a migration holds and counts for; its instance holds what it has at its destination. */
export type KeptForMove = Required<Pick<Consumer, 'allocations' | 'counted'>>;

/**
 * What is kept for the way back while an instance that held `left` holds `next`.
 *
 * On another host that is all of `left`. In place the two sides are one copy, which never has both sizes: only what `next`
 * lacks of `left` is kept, so that of each class the larger side is held, and both confirming and going back only give
 * something up. For the quota a move counts once, as its larger side, wherever it goes.
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

/** What two consumers hold together. */
export function heldTogether(a: Allocations, b: Allocations): Allocations {
  const all: Record<string, Resources> = { ...a };
  for (const [uuid, resources] of Object.entries(b)) all[uuid] = addResources(all[uuid] ?? {}, resources);
  return all;
}

/** Of each class by how much the one is more than the other, where it is. */
function beyond(more: Resources, less: Resources): Resources {
  const left = Object.entries(more).map(([name, amount]) => [name, amount - (less[name] ?? 0)] as const);
  return Object.fromEntries(left.filter(([, amount]) => amount > 0));
}

function sumOf(allocations: Allocations): Resources {
  return Object.values(allocations).reduce(addResources, {});
}
