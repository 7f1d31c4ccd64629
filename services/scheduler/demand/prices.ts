import { capacityOf, type Inventories, type Resources } from '#libs/domain/inventory';
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
  /** The classes that are asked for, with the shares of the fleet's capacity that are free: 0 to 1. */
  readonly freeShares: readonly (readonly [resourceClass: string, share: number])[];
  /** The sum of the prices of all that fits less on a host once so much is taken. */
  readonly costOn: (host: HostState, taken: Resources) => number;
}

/** Where nobody asks for prices: all room is worth the same. */
export const NO_PRICES: Prices = { shapes: [], freeShares: [], costOn: () => 0 };

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
  const columns = new ShapeColumns([...asked, ...whole]);
  const fits = new Float64Array(columns.shapes.length);
  const classes = [...new Set(asked.flatMap(({ resources }) => Object.keys(resources)))];
  const amounts = classes.map((name) => ({ name, free: 0, capacity: 0 }));
  for (const host of open) {
    columns.addCounts(host.free, fits);
    for (const amount of amounts) addAmount(amount, host);
  }
  const shapes = columns.shapes.map(({ key, resources, share }, k): PricedShape => {
    const all = fits[k] as number;
    return { key, resources, fits: all, price: share / (all + FEWEST) };
  });
  return {
    shapes,
    freeShares: amounts.flatMap(({ name, free, capacity }) => (capacity > 0 ? [[name, free / capacity] as const] : [])),
    costOn: costsOn(columns, shapes),
  };
}

function costsOn(columns: ShapeColumns<AskedShape>, shapes: readonly PricedShape[]): Prices['costOn'] {
  const prices = Float64Array.from(shapes, ({ price }) => price);
  // What a host is worth before is the same for every class, and asked for by each.
  const hosts: HostState[] = [];
  const before: number[] = [];
  return (host, taken) => {
    const { index, free } = host;
    if (hosts[index] !== host) {
      hosts[index] = host;
      before[index] = columns.worth(free, NOTHING, prices);
    }
    return (before[index] as number) - columns.worth(free, taken, prices);
  };
}

const NOTHING: Resources = {};

function addAmount(sum: { readonly name: string; free: number; capacity: number }, host: HostState): void {
  const inventory = host.inventories[sum.name];
  if (!inventory) return;
  sum.free += Math.max(0, host.free[sum.name] ?? 0);
  sum.capacity += Math.max(0, capacityOf(inventory));
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
