import { capacityOf, type Resources } from '#libs/domain/inventory';
import { requiredAmounts } from '../fleet/host-capacity';
import type { HostState } from '../fleet/host-state';
import type { EquivalenceClass } from '../request/equivalence-class';

/** The amounts that an instance asks of a host, by resource class: what of a request decides how many fit. */
export interface Shape {
  /** The same for equal amounts. */
  readonly key: string;
  readonly resources: Resources;
}

/** Required resources of one instance of a class; undefined when it asks for nothing. */
export function shapeOf(equivalenceClass: EquivalenceClass): Shape | undefined {
  return shapeFrom(Object.entries(requiredAmounts({ ...equivalenceClass, batchSize: 1 })));
}

/** All that a host has to give: an instance of this shape fits on it only when it is empty. */
export function wholeHost({ inventories }: Pick<HostState, 'inventories'>): Shape | undefined {
  return shapeFrom(Object.entries(inventories).map(([name, inventory]) => [name, Math.floor(capacityOf(inventory))]));
}

/** The number of instances of a shape that fit into `free`. */
export function countOf({ resources }: Shape, free: Resources): number {
  let count = Number.POSITIVE_INFINITY;
  for (const name in resources) {
    count = Math.min(count, Math.floor((free[name] ?? 0) / (resources[name] as number)));
  }
  return Math.max(0, count);
}

/** The least part that a shape takes of a host, by its scarcest class there: more than 1 when it fits on none. */
export function sizeOf({ resources }: Shape, kinds: readonly Shape[]): number {
  let size = Number.POSITIVE_INFINITY;
  for (const { resources: all } of kinds) {
    let part = 0;
    for (const name in resources) part = Math.max(part, (resources[name] as number) / (all[name] ?? 0));
    size = Math.min(size, part);
  }
  return size;
}

/** The number of instances that no longer fit once `taken` is gone. */
export function lossOf(shape: Shape, free: Resources, taken: Resources): number {
  const left = Object.fromEntries(Object.entries(free).map(([name, amount]) => [name, amount - (taken[name] ?? 0)]));
  return countOf(shape, free) - countOf(shape, left);
}

function shapeFrom(amounts: readonly (readonly [string, number])[]): Shape | undefined {
  const asked = amounts.filter(([, amount]) => amount > 0).sort(([a], [b]) => (a < b ? -1 : 1));
  return asked.length === 0 ? undefined : { key: JSON.stringify(asked), resources: Object.fromEntries(asked) };
}
