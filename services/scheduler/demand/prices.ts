import type { Inventories, Resources } from '#libs/domain/inventory';
import type { FleetSnapshot } from '../fleet/fleet-snapshot';
import type { HostState } from '../fleet/host-state';
import type { AskedShape } from './demand';
import { HostRows } from './host-rows';
import { type Shape, sizeOf, wholeHost } from './shape';
import { ShapeColumns } from './shape-columns';

/** A shape, how many more of it the fleet can take, and what it costs to take the room for one away. */
export interface PricedShape extends AskedShape {
  /** The part of an empty host that it takes; more than 1 when it fits on none. */
  readonly size: number;
  readonly fits: number;
  readonly price: number;
  /** True if nobody has to ask for it: its share is assumed. */
  readonly isAssumed: boolean;
}

/** Prices of a fleet's free capacity, as of one snapshot. Immutable. */
export interface Prices {
  readonly shapes: readonly PricedShape[];
  /** The same in columns. */
  readonly columns: ShapeColumns<Shape>;
  /** The sum of the prices of all that fits less on a host once so much is taken there. */
  readonly costOf: (taken: Resources) => (host: HostState) => number;
}

/** Where nobody asks for prices: all room is worth the same. */
export const NO_PRICES: Prices = {
  shapes: [],
  columns: new ShapeColumns([]),
  costOf: () => () => 0,
};

/**
 * The part of the demand that is taken to be for whole hosts, of the fleet's commonest kinds: requests of shapes that
 * nobody has asked for yet. Without it a fleet has no empty host when the first large request comes, because nothing said
 * that one is worth keeping.
 */
const WHOLE_HOSTS_SHARE = 0.01;
const MAX_KINDS = 8;
/** Shapes that are summed for every host that is weighed. The others together are worth a few percent of all room. */
const MAX_WEIGHED = 32;
/** Added to every count: a shape of which none fits now may fit again before the next prices, and is dear then, not without price. */
const FEWEST = 0.1;
/** The price of the last room of a shape that takes a whole host. */
const LAST_ROOM = 1;

/**
 * Prices of the room of hosts that are up and enabled: of shape k, `d_k / n_k + s_k / n_k²`, where d_k is its share of the
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
    if (isOpen(host)) open.push(host);
  });
  const kinds = kindsOf(open);
  const commonest = kinds.slice(0, MAX_KINDS);
  const whole = commonest.map((shape) => ({ ...shape, share: WHOLE_HOSTS_SHARE / commonest.length, isAssumed: true }));
  const all = [...asked.map((shape) => ({ ...shape, isAssumed: false })), ...whole];
  const columns = new ShapeColumns(all);
  const fits = new Float64Array(all.length);
  for (const host of open) columns.addCountsOf(host, fits);
  const shapes = all.map((shape, k): PricedShape => {
    const sized = { ...shape, size: sizeOf(shape, kinds) };
    return { ...sized, fits: fits[k] as number, price: priceOf(sized, shape.share, fits[k] as number) };
  });
  return pricesFrom(shapes, columns);
}

/** Prices of which the shapes are known, as they are recorded. */
export function pricesFrom(shapes: readonly PricedShape[], columns = new ShapeColumns<Shape>(shapes)): Prices {
  return { shapes, columns, costOf: costsBy(dearest(shapes)) };
}

/** True if a host's room counts. */
export const isOpen = ({ host }: HostState): boolean => host.up && host.enabled;

/** The price of a place of a shape with this share of the demand, while so many fit. */
export function priceOf({ size }: Pick<PricedShape, 'size'>, share: number, fits: number): number {
  // Without room on an empty host a shape has none to lose.
  if (size > 1 && fits === 0) return 0;
  return share / (fits + FEWEST) + (LAST_ROOM * Math.min(1, size)) / (fits + 1) ** 2;
}

/** The shapes whose room is worth most in all. */
function dearest(shapes: readonly PricedShape[]): readonly PricedShape[] {
  const worthOf = ({ price, fits }: PricedShape) => price * (fits + 1);
  return shapes.toSorted((a, b) => worthOf(b) - worthOf(a)).slice(0, MAX_WEIGHED);
}

function costsBy(shapes: readonly PricedShape[]): Prices['costOf'] {
  const columns = new ShapeColumns(shapes);
  const prices = Float64Array.from(shapes, ({ price }) => price);
  const rows = new HostRows(columns.names);
  const left = new Float64Array(columns.names.length);
  const nothing = new Float64Array(columns.names.length);
  const worthWithout = (row: number, taken: Float64Array) => {
    for (let i = 0; i < left.length; i++) left[i] = (rows.values[row + i] as number) - (taken[i] as number);
    return columns.worth(left, prices);
  };
  const worthOf = (row: number) => {
    const known = rows.values[row + rows.worthAt] as number;
    if (!Number.isNaN(known)) return known;
    const worth = worthWithout(row, nothing);
    rows.values[row + rows.worthAt] = worth;
    return worth;
  };
  return (taken) => {
    const amounts = Float64Array.from(columns.names, (name) => taken[name] ?? 0);
    return (host) => {
      const row = rows.of(host);
      return worthOf(row) - worthWithout(row, amounts);
    };
  };
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
