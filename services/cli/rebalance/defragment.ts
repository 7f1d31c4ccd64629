import { addResources, negated, type Resources } from '#libs/domain/inventory';
import { type Fleet, fits, type PlanHost, type Wish } from './plan';

/** Shapes of requests that prices are made for: those that run most often. */
const MOST_SHAPES = 32;

/** Requests of one size. */
interface Shape {
  readonly resources: Resources;
  /** What room for one more of them is worth. */
  readonly price: number;
}

/** A host on the way: what it has free when all moves are done, and before anything has left. */
interface Place {
  readonly name: string;
  readonly isOpen: boolean;
  free: Resources;
  room: Resources;
  /** By shape: what the host's room is worth more without one of them, and less with one more. */
  gains: number[];
  losses: number[];
}

/**
 * Moves that make room for what is asked for: each the one that the fleet's room gains most by, until none gains anything.
 *
 * Room is worth what the `headroom` weigher says of it: of each size of request *d / n* for one more, where *d* of them run and *n* more
 * would fit. What is left on many hosts in pieces too small for large requests is gathered by that. Prices are those of before the
 * moves. All are claimed before any has left, so what leaves a host frees nothing for another.
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

/** How many more of a size hosts have room for, each by itself. */
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

/** What may be moved, by host and shape. */
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

/** The shape that gains most by leaving the host that gains most, for the host that loses least. */
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

/** The first of those with the most; what is undefined does not count. */
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
