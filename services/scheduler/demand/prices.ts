import type { Inventories } from '#libs/domain/inventory';
import type { FleetSnapshot } from '../fleet/fleet-snapshot';
import type { HostState } from '../fleet/host-state';
import type { AskedShape } from './demand';
import { type Shape, wholeHost } from './shape';
import { ShapeColumns } from './shape-columns';

/** A shape, how many more of it the fleet can take, and what it costs to take the room for one away. */
export interface PricedShape extends Shape {
  readonly fits: number;
  readonly price: number;
}

/** What the room of a fleet is worth, as of one snapshot. Immutable. */
export interface Prices {
  readonly shapes: readonly PricedShape[];
  readonly columns: ShapeColumns;
}

/** Where nobody asks for prices: all room is worth the same. */
export const NO_PRICES: Prices = { shapes: [], columns: new ShapeColumns([]) };

/**
 * The part of the demand that is taken to be for whole hosts, of the fleet's commonest kinds: requests of shapes that
 * nobody has asked for yet. Without it a fleet has no empty host when the first large request comes, because nothing said
 * that one is worth keeping.
 */
const WHOLE_HOSTS_SHARE = 0.01;
const MAX_KINDS = 8;
/** Added to every count: a shape of which none fits now may fit again before the next prices, and is dear then, not without price. */
const FEWEST = 0.1;

/**
 * Prices of the room of hosts that are up and enabled: of shape k, `d_k / n_k`, where d_k is its share of the demand and n_k how
 * many more of it fit, host by host. This is the gradient of Σ d_k log n_k: what is asked for often and has little room
 * left is dear. As in proportional fairness (Kelly 1997), no shape's room is given up for another's whatever it gains.
 *
 * One pass over the fleet.
 */
export function pricesOf(asked: readonly AskedShape[], { hosts }: FleetSnapshot): Prices {
  const open: HostState[] = [];
  hosts.forEach((_, host) => {
    if (host.host.up && host.host.enabled) open.push(host);
  });
  const kinds = commonestKinds(open);
  const whole = kinds.map((shape): AskedShape => ({ ...shape, share: WHOLE_HOSTS_SHARE / kinds.length }));
  const priced = [...asked, ...whole];
  const columns = new ShapeColumns(priced);
  const sums = new Float64Array(priced.length);
  const fits = new Float64Array(priced.length);
  for (const { free } of open) {
    columns.count(free, {}, fits);
    for (const [k, count] of fits.entries()) sums[k] = (sums[k] as number) + count;
  }
  const shapes = priced.map(({ key, resources, share }, k): PricedShape => {
    const all = sums[k] as number;
    return { key, resources, fits: all, price: share / (all + FEWEST) };
  });
  return { shapes, columns };
}

function commonestKinds(hosts: readonly HostState[]): readonly Shape[] {
  // Hosts of one kind share the object.
  const byInventories = new Map<Inventories, { readonly host: HostState; count: number }>();
  for (const host of hosts) {
    const same = byInventories.get(host.inventories);
    if (same) same.count += 1;
    else byInventories.set(host.inventories, { host, count: 1 });
  }
  const kinds = new Map<string, { readonly shape: Shape; count: number }>();
  for (const { host, count } of byInventories.values()) {
    const shape = wholeHost(host);
    if (shape) kinds.set(shape.key, { shape, count: (kinds.get(shape.key)?.count ?? 0) + count });
  }
  const byCount = [...kinds.values()].sort((a, b) => b.count - a.count);
  return byCount.slice(0, MAX_KINDS).map(({ shape }) => shape);
}
