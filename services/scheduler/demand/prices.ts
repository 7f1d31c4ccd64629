import { capacityOf, type Inventories, type Resources } from '#libs/domain/inventory';
import type { FleetSnapshot } from '../fleet/fleet-snapshot';
import type { HostState } from '../fleet/host-state';
import type { AskedShape } from './demand';
import { AMOUNTS, HostRows } from './host-rows';
import { type Shape, sizeOf, wholeHost } from './shape';
import { ShapeColumns } from './shape-columns';

/** A shape, how many more of it the fleet can take, and what it costs to take the room for one away. */
export interface PricedShape extends Shape {
  readonly fits: number;
  readonly price: number;
}

/** Prices of a fleet's free capacity, as of one snapshot. Immutable. */
export interface Prices {
  readonly shapes: readonly PricedShape[];
  /** The classes that are asked for, with the shares of the fleet's capacity that are free: 0 to 1. */
  readonly freeShares: readonly (readonly [resourceClass: string, share: number])[];
  /** Free amounts and price of each host, for the classes of the shapes. */
  readonly rows: HostRows;
  /** The sum of the prices of all that fits less on a host once so much is taken there. */
  readonly costOf: (taken: Resources) => (host: HostState) => number;
}

/** Where nobody asks for prices: all room is worth the same. */
export const NO_PRICES: Prices = {
  shapes: [],
  freeShares: [],
  rows: new HostRows([]),
  costOf: () => () => 0,
};

/**
 * The part of the demand that is taken to be for whole hosts, of the fleet's commonest kinds: requests of shapes that
 * nobody has asked for yet. Without it a fleet has no empty host when the first large request comes, because nothing said
 * that one is worth keeping.
 */
const WHOLE_HOSTS_SHARE = 0.01;
const MAX_KINDS = 8;
/** Added to every count: a shape of which none fits now may fit again before the next prices, and is dear then, not without price. */
const FEWEST = 0.1;
/** The price of the last room of a shape that takes a whole host. */
const LAST_ROOM = 0.5;

/**
 * Prices of the room of hosts that are up and enabled: of shape k, `d_k / n_k + LAST_ROOM s_k / n_k²`, where d_k is its share of the
 * demand, n_k how many more of it fit, host by host, and s_k the part of a host that it takes. The first term is the gradient of
 * Σ d_k log n_k: what is asked for often and has little room left is dear. As in proportional fairness (Kelly 1997), no shape's
 * room is given up for another's whatever it gains. The second keeps the last rooms of large shapes: they are asked for so
 * seldom that the first sells them, and none comes back until a host is nearly empty.
 *
 * One pass over the fleet.
 */
export function pricesOf(asked: readonly AskedShape[], { hosts }: FleetSnapshot): Prices {
  const open: HostState[] = [];
  hosts.forEach((_, host) => {
    if (host.host.up && host.host.enabled) open.push(host);
  });
  const kinds = kindsOf(open);
  const commonest = kinds.slice(0, MAX_KINDS);
  const whole = commonest.map((shape): AskedShape => ({ ...shape, share: WHOLE_HOSTS_SHARE / commonest.length }));
  // Without room on an empty host a shape has none to lose.
  const sized = [...asked, ...whole].map((shape) => ({ ...shape, size: sizeOf(shape, kinds) }));
  const columns = new ShapeColumns(sized.filter(({ size }) => size <= 1));
  const free = new Float64Array(columns.names.length);
  const fits = new Float64Array(columns.shapes.length);
  for (const host of open) {
    for (const [i, name] of columns.names.entries()) free[i] = host.free[name] ?? 0;
    columns.addCounts(free, fits);
  }
  const shapes = columns.shapes.map(({ key, resources, share, size }, k): PricedShape => {
    const all = fits[k] as number;
    return { key, resources, fits: all, price: share / (all + FEWEST) + (LAST_ROOM * size) / (all + 1) ** 2 };
  });
  const classes = [...new Set(asked.flatMap(({ resources }) => Object.keys(resources)))];
  return { shapes, freeShares: freeSharesOf(open, classes), ...costsBy(columns, shapes) };
}

function costsBy(columns: ShapeColumns<Shape>, shapes: readonly PricedShape[]): Pick<Prices, 'rows' | 'costOf'> {
  const { names } = columns;
  const prices = Float64Array.from(shapes, ({ price }) => price);
  const rows = new HostRows(names);
  const left = new Float64Array(names.length);
  const nothing = new Float64Array(names.length);
  const worthWithout = (row: number, taken: Float64Array) => {
    const { values } = rows;
    for (let i = 0; i < left.length; i++) left[i] = (values[row + AMOUNTS * i] as number) - (taken[i] as number);
    return columns.worth(left, prices);
  };
  const worthOf = (row: number) => {
    const known = rows.values[row + rows.worthAt] as number;
    if (!Number.isNaN(known)) return known;
    const worth = worthWithout(row, nothing);
    rows.values[row + rows.worthAt] = worth;
    return worth;
  };
  return {
    rows,
    costOf(taken) {
      const amounts = Float64Array.from(names, (name) => taken[name] ?? 0);
      return (host) => {
        const row = rows.of(host);
        return worthOf(row) - worthWithout(row, amounts);
      };
    },
  };
}

/** The parts of the capacity of hosts that are free, of each class of which there is any. */
function freeSharesOf(hosts: readonly HostState[], classes: readonly string[]): Prices['freeShares'] {
  return classes.flatMap((name) => {
    let [inAll, ofThem] = [0, 0];
    for (const { inventories, free } of hosts) {
      const inventory = inventories[name];
      if (!inventory) continue;
      ofThem += Math.max(0, free[name] ?? 0);
      inAll += Math.max(0, capacityOf(inventory));
    }
    return inAll > 0 ? [[name, ofThem / inAll] as const] : [];
  });
}

/** Whole hosts of each kind, the commonest first. */
function kindsOf(hosts: readonly HostState[]): readonly Shape[] {
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
  return [...kinds.values()].sort((a, b) => b.count - a.count).map(({ shape }) => shape);
}
