import { addResources, negated, type Resources } from '#libs/domain/inventory';

/** A host as a plan sees it. */
export interface PlanHost {
  readonly name: string;
  /** Whether anything may be placed there. */
  readonly isOpen: boolean;
  /** What is left of each resource class. */
  readonly free: Resources;
  /** What it could hold at most. */
  readonly capacity: Resources;
}

/** An instance as a plan sees it. */
export interface PlanInstance {
  readonly uuid: string;
  readonly host: string;
  readonly resources: Resources;
  /** Whether it can be moved now. */
  readonly isMovable: boolean;
}

export interface Fleet {
  readonly hosts: readonly PlanHost[];
  readonly instances: readonly PlanInstance[];
}

export interface Move {
  readonly uuid: string;
  readonly from: string;
  readonly to: string;
}

export type Plan =
  /** In this order each move fits when its turn comes. */
  { readonly kind: 'moves'; readonly moves: readonly Move[] } | { readonly kind: 'impossible'; readonly why: string };

/** Of an instance's resources and places, so many partial plans are looked at; then what was found so far is it. */
const MAX_NODES = 20_000;
/** A request is admitted by moving at most so many instances off one host. */
const MAX_DISPLACED = 3;

/**
 * The moves that empty some hosts: each instance there moves once, which is the fewest. Largest first, each to the host that
 * it leaves least free on, going back where that leads nowhere.
 */
export function planEmpty(fleet: Fleet, names: readonly string[]): Plan {
  const isEmptied = (name: string) => names.includes(name);
  const leaving = fleet.instances.filter(({ host }) => isEmptied(host));
  const stuck = leaving.find(({ isMovable }) => !isMovable);
  if (stuck) return impossible(`${stuck.uuid} on ${stuck.host} can not be moved now`);
  const moves = placeAll(leaving, freeOf(fleet, isEmptied));
  return moves ? { kind: 'moves', moves } : impossible('the other hosts have no room for all of it');
}

/** The fewest moves after which some host has room for a request: none, if one has. */
export function planAdmit(fleet: Fleet, wanted: Resources): Plan {
  const open = fleet.hosts.filter(({ isOpen }) => isOpen);
  for (let count = 0; count <= MAX_DISPLACED; count++) {
    for (const host of open.filter(({ capacity }) => fits(wanted, capacity))) {
      const there = fleet.instances.filter((one) => one.host === host.name && one.isMovable);
      for (const leaving of subsets(there, count)) {
        const room = leaving.reduce((sum, { resources }) => addResources(sum, resources), host.free);
        if (!fits(wanted, room)) continue;
        const moves = placeAll(
          leaving,
          freeOf(fleet, (name) => name === host.name),
        );
        if (moves) return { kind: 'moves', moves };
      }
    }
  }
  return impossible(`no host has room for it after ${MAX_DISPLACED} moves`);
}

/**
 * Moves that bring the fullest host down and the emptiest up, each the one that narrows the gap between them most, until none
 * does by more than `tolerance` (a share of capacity).
 */
export function planEvenOut(fleet: Fleet, tolerance = 0.05): Plan {
  const moves: Move[] = [];
  let now = fleet;
  for (const _ of fleet.instances) {
    const best = narrowing(now, tolerance, new Set(moves.map(({ uuid }) => uuid)));
    if (best === undefined) break;
    moves.push(best);
    now = afterMove(now, best);
  }
  return { kind: 'moves', moves };
}

/** The fleet after a move. */
export function afterMove({ hosts, instances }: Fleet, { uuid, from, to }: Move): Fleet {
  const moved = instances.find((one) => one.uuid === uuid);
  const sizes = moved?.resources ?? {};
  return {
    hosts: hosts.map((host) => {
      if (host.name === from) return { ...host, free: addResources(host.free, sizes) };
      return host.name === to ? { ...host, free: addResources(host.free, negated(sizes)) } : host;
    }),
    instances: instances.map((one) => (one.uuid === uuid ? { ...one, host: to } : one)),
  };
}

/** How full a host is by the class that it has least of, from 0 to 1. */
export function fullness({ free, capacity }: PlanHost): number {
  const shares = Object.entries(capacity).map(([name, most]) => (most > 0 ? 1 - (free[name] ?? 0) / most : 0));
  return Math.max(0, ...shares);
}

export function fits(resources: Resources, free: Resources): boolean {
  return Object.entries(resources).every(([name, amount]) => amount <= (free[name] ?? 0));
}

function narrowing(fleet: Fleet, tolerance: number, moved: ReadonlySet<string>): Move | undefined {
  const open = fleet.hosts.filter(({ isOpen }) => isOpen);
  const byFullness = open.toSorted((a, b) => fullness(b) - fullness(a) || (a.name < b.name ? -1 : 1));
  const [fullest, emptiest] = [byFullness[0], byFullness.at(-1)];
  if (fullest === undefined || emptiest === undefined || fullest === emptiest) return undefined;
  const gapOf = (hosts: readonly PlanHost[]) => {
    const all = hosts.filter(({ name }) => name === fullest.name || name === emptiest.name).map(fullness);
    return Math.max(...all) - Math.min(...all);
  };
  const gap = gapOf(fleet.hosts);
  const candidates = fleet.instances
    .filter((one) => one.host === fullest.name && one.isMovable && !moved.has(one.uuid))
    .filter(({ resources }) => fits(resources, emptiest.free))
    .map(({ uuid }) => ({ uuid, from: fullest.name, to: emptiest.name }))
    .map((move) => ({ move, gap: gapOf(afterMove(fleet, move).hosts) }));
  const best = candidates.toSorted((a, b) => a.gap - b.gap || (a.move.uuid < b.move.uuid ? -1 : 1))[0];
  return best && gap - best.gap > tolerance ? best.move : undefined;
}

/** A place for each of some instances, or undefined when there is none, or none was found in time. */
function placeAll(leaving: readonly PlanInstance[], free: ReadonlyMap<string, Resources>): Move[] | undefined {
  const order = leaving.toSorted((a, b) => sizeOf(b) - sizeOf(a) || (a.uuid < b.uuid ? -1 : 1));
  const left = new Map(free);
  const moves: Move[] = [];
  let nodes = 0;
  const place = (n: number): boolean => {
    const one = order[n];
    if (one === undefined) return true;
    const fitting = [...left].filter(([name, room]) => name !== one.host && fits(one.resources, room));
    const tightest = fitting.sort(([a, x], [b, y]) => total(x) - total(y) || (a < b ? -1 : 1));
    for (const [to, room] of tightest) {
      if (++nodes > MAX_NODES) return false;
      left.set(to, addResources(room, negated(one.resources)));
      moves.push({ uuid: one.uuid, from: one.host, to });
      if (place(n + 1)) return true;
      moves.pop();
      left.set(to, room);
    }
    return false;
  };
  return place(0) ? moves : undefined;
}

function freeOf({ hosts }: Fleet, isLeftOut: (name: string) => boolean): Map<string, Resources> {
  return new Map(hosts.filter(({ name, isOpen }) => isOpen && !isLeftOut(name)).map(({ name, free }) => [name, free]));
}

function* subsets<T>(items: readonly T[], size: number, from = 0): Generator<readonly T[]> {
  if (size === 0) return yield [];
  for (let n = from; n < items.length; n++) {
    for (const rest of subsets(items, size - 1, n + 1)) yield [items[n] as T, ...rest];
  }
}

function sizeOf({ resources }: PlanInstance): number {
  return total(resources);
}

function total(resources: Resources): number {
  return Object.values(resources).reduce((sum, amount) => sum + amount, 0);
}

function impossible(why: string): Plan {
  return { kind: 'impossible', why };
}
