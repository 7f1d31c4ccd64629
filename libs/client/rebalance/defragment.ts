import { addResources, negated, type Resources } from '#libs/domain/inventory';
import { type Fleet, fits, type PlanHost, type Wish } from './plan';

/** Limit of the request shapes with a price: those that run most often. */
const MOST_SHAPES = 32;

/** Requests of one size. */
interface Shape {
  readonly resources: Resources;
  /** The value of capacity for one more of them. */
  readonly price: number;
}

/** A host in the plan: its free capacity after all moves, and before any has left. */
interface Place {
  readonly name: string;
  readonly isOpen: boolean;
  free: Resources;
  room: Resources;
  /** By shape: the host's gain in value from losing one, and its loss from getting one. */
  gains: number[];
  losses: number[];
}

/**
 * Moves that make capacity for typical requests: each move is the one with the largest gain in value, until none gains
 * anything.
 *
 * The value is the first term of the `headroom` weigher's price: *d / n* for one more request of a size, where *d* of them
 * run and *n* more would fit. So free pieces too small for large requests are gathered from many hosts. Prices are those before the
 * moves. All moves are claimed before any instance has left, so an instance that leaves a host frees nothing for
 * another.
 *
 * @param most  moves
 * @param stay  instances that are not moved
 */
export function defragmenting(fleet: Fleet, most: number, stay: ReadonlySet<string> = new Set()): Wish {
  const shapes = shapesOf(fleet);
  const places = fleet.hosts.map((host) => placeOf(host, shapes));
  const movable = movableBy(fleet, shapes, stay);
  const moves = [];
  while (moves.length < most) {
    const best = bestMove(places, movable, shapes);
    if (best === undefined) break;
    const { from, to, shape } = best;
    const resources = shapes[shape]?.resources ?? {};
    const instanceUuid = movable.get(from.name)?.[shape]?.pop() ?? '';
    moves.push({ instanceUuid, targetHost: to.name });
    update(from, shapes, addResources(from.free, resources), from.room);
    update(to, shapes, addResources(to.free, negated(resources)), addResources(to.room, negated(resources)));
  }
  return { moves, leaveHosts: [] };
}

/** The number of further instances of a size that fit on the hosts, each host alone. */
export function roomFor(resources: Resources, hosts: readonly Pick<PlanHost, 'free'>[]): number {
  return hosts.reduce((sum, { free }) => sum + timesIn(resources, free), 0);
}

function shapesOf({ hosts, instances }: Fleet): readonly Shape[] {
  const counts = new Map<string, { readonly resources: Resources; count: number }>();
  for (const { resources } of instances) {
    const key = keyOf(resources);
    const known = counts.get(key);
    if (known) known.count += 1;
    else counts.set(key, { resources, count: 1 });
  }
  const open = hosts.filter(({ isOpen }) => isOpen);
  return [...counts.values()]
    .sort((a, b) => b.count - a.count)
    .slice(0, MOST_SHAPES)
    .map(({ resources, count }) => ({ resources, price: count / Math.max(1, roomFor(resources, open)) }));
}

function keyOf(resources: Resources): string {
  return JSON.stringify(Object.entries(resources).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Movable instances, by host and shape. */
function movableBy({ instances }: Fleet, shapes: readonly Shape[], stay: ReadonlySet<string>) {
  const numbers = new Map(shapes.map(({ resources }, n) => [keyOf(resources), n]));
  const found = new Map<string, (string[] | undefined)[]>();
  for (const { uuid, host, resources, isMovable } of instances) {
    const shape = numbers.get(keyOf(resources));
    if (shape === undefined || !isMovable || stay.has(uuid)) continue;
    const here = found.get(host) ?? [];
    found.set(host, here);
    here[shape] = [...(here[shape] ?? []), uuid];
  }
  return found;
}

function placeOf({ name, isOpen, free }: PlanHost, shapes: readonly Shape[]): Place {
  const place = { name, isOpen, free, room: free, gains: [], losses: [] };
  update(place, shapes, free, free);
  return place;
}

function update(place: Place, shapes: readonly Shape[], free: Resources, room: Resources): void {
  place.free = free;
  place.room = room;
  const present = worthOf(free, shapes);
  place.gains = shapes.map(({ resources }) => worthOf(addResources(free, resources), shapes) - present);
  place.losses = shapes.map(({ resources }) => present - worthOf(addResources(free, negated(resources)), shapes));
}

function worthOf(free: Resources, shapes: readonly Shape[]): number {
  return shapes.reduce((sum, { resources, price }) => sum + price * timesIn(resources, free), 0);
}

function timesIn(resources: Resources, free: Resources): number {
  let times = Number.POSITIVE_INFINITY;
  for (const name in resources) {
    const amount = resources[name] ?? 0;
    if (amount > 0) times = Math.min(times, (free[name] ?? 0) / amount);
  }
  return Number.isFinite(times) ? Math.max(0, Math.floor(times)) : 0;
}

/** The move with the largest gain: the best shape, from the host that gains most to the host that loses least. */
function bestMove(
  places: readonly Place[],
  movable: ReadonlyMap<string, (string[] | undefined)[]>,
  shapes: readonly Shape[],
) {
  let best: { readonly from: Place; readonly to: Place; readonly shape: number } | undefined;
  let most = 1e-9;
  for (const [shape, { resources }] of shapes.entries()) {
    const from = maxBy(places, (one) => (movable.get(one.name)?.[shape]?.length ? (one.gains[shape] ?? 0) : undefined));
    if (from === undefined) continue;
    const isOpen = (one: Place) => one !== from && one.isOpen && fits(resources, one.room);
    const to = maxBy(places, (one) => (isOpen(one) ? -(one.losses[shape] ?? 0) : undefined));
    if (to === undefined) continue;
    const gain = (from.gains[shape] ?? 0) - (to.losses[shape] ?? 0);
    if (gain <= most) continue;
    most = gain;
    best = { from, to, shape };
  }
  return best;
}

/** The first place with the largest value; undefined values do not count. */
function maxBy(places: readonly Place[], valueOf: (place: Place) => number | undefined): Place | undefined {
  let best: Place | undefined;
  let most = Number.NEGATIVE_INFINITY;
  for (const place of places) {
    const value = valueOf(place);
    if (value === undefined || value <= most) continue;
    most = value;
    best = place;
  }
  return best;
}
