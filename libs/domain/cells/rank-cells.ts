import type { ResolvedSpec } from '../extra-specs/resolve';
import type { Resources } from '../inventory';
import type { Random } from '../random';
import type { CellState, CellSummary, HostClass } from './cell-summary';

/** What a request asks of a cell, as far as a summary can tell. */
export interface CellRequest {
  /** The same for requests of which a summary says the same. */
  readonly shape: string;
  /** Whether nothing else decides: not where others of its group are, nor hosts by name. Else a refusal says nothing of the like. */
  readonly isShapeAlone: boolean;
  readonly zone: string;
  readonly resources: Resources;
  readonly requiredTraits: readonly string[];
  readonly forbiddenTraits: readonly string[];
  readonly preferredTraits: readonly string[];
}

/** A cell as the top sees it when it decides. */
export interface CellCandidate {
  readonly name: string;
  readonly state: CellState;
  /** Why it can not be asked; '' when it can. */
  readonly unreachable: string;
  /** Undefined before the first; the cell is asked after those that are known. */
  readonly summary: CellSummary | undefined;
  /** Given to builds since the summary was made. */
  readonly assumed: Resources;
  /** The least count of instances of this shape that it refused after its summary; infinite when it did not: it would again. */
  readonly refusedSince: (shape: string) => number;
  /** The least count of instances of this shape that it has refused lately; infinite when it has not. */
  readonly refusedCount: (shape: string) => number;
}

export interface CellRefusal {
  readonly cell: string;
  readonly filter: 'enabled' | 'reachable' | 'zone' | 'traits' | 'capacity' | 'asked';
  /** A stable symbol: `draining`, `capacity_vcpu`. */
  readonly reason: string;
}

export interface RankedCells {
  /** Best first. */
  readonly ranked: readonly string[];
  readonly refusals: readonly CellRefusal[];
}

/** What a spec asks of a cell. Groups count as if all came from one host; what no summary tells, the cell will. */
export function cellRequestOf(spec: ResolvedSpec): CellRequest {
  const resources: Record<string, number> = { ...spec.resources };
  for (const group of spec.requestGroups) {
    for (const [name, amount] of Object.entries(group.resources)) resources[name] = (resources[name] ?? 0) + amount;
  }
  const { requiredTraits, forbiddenTraits, preferredTraits } = spec;
  const sorted = Object.entries(resources).sort(([a], [b]) => (a < b ? -1 : 1));
  const zone = spec.availabilityZone ?? '';
  const lists = [requiredTraits, forbiddenTraits, preferredTraits].map((names) => [...names].sort());
  const named = [spec.sameHost, spec.differentHost, spec.forceHosts, spec.ignoreHosts, spec.memberOf];
  const isShapeAlone = spec.group === undefined && named.every((names) => names.length === 0);
  return {
    isShapeAlone,
    shape: JSON.stringify([zone, sorted, ...lists]),
    zone,
    resources,
    requiredTraits,
    forbiddenTraits,
    preferredTraits,
  };
}

/**
 * The cells that may take `count` instances, best first: those that seem to have room for all of them, then for some, then those
 * of which nothing is known, then those that refused the like lately. Among those with room, more of it comes first, but not
 * strictly: several top schedulers with the same summaries must not all choose one cell.
 *
 * A summary errs on the side of too much room, so what it refuses the cell would refuse; what it lets pass the cell may refuse
 * all the same, which costs one more call.
 */
export function rankCells(
  request: CellRequest,
  count: number,
  cells: readonly CellCandidate[],
  random: Random,
): RankedCells {
  const refusals: CellRefusal[] = [];
  const open: { name: string; tier: number; weight: number }[] = [];
  for (const { name, state, unreachable, summary, assumed, refusedSince, refusedCount } of cells) {
    const refuse = (filter: CellRefusal['filter'], reason: string) => refusals.push({ cell: name, filter, reason });
    if (state !== 'enabled') refuse('enabled', state);
    else if (unreachable !== '') refuse('reachable', unreachable);
    else if (refusedSince(request.shape) <= count) refuse('asked', 'refused_just_now');
    else if (summary === undefined) open.push({ name, tier: 2, weight: random.next() });
    else {
      const room = roomIn(summary, request);
      if (room.kind === 'refused') refuse(room.filter, room.reason);
      else {
        const fits = room.fits - takenBy(assumed, request.resources);
        const tier = refusedCount(request.shape) <= count ? 3 : fits >= count ? 0 : 1;
        open.push({ name, tier, weight: Math.max(fits, 0.01) * room.preference * (0.75 + random.next() / 2) });
      }
    }
  }
  open.sort((a, b) => a.tier - b.tier || b.weight - a.weight);
  return { ranked: open.map(({ name }) => name), refusals };
}

type Room =
  | { readonly kind: 'room'; readonly fits: number; readonly preference: number }
  | { readonly kind: 'refused'; readonly filter: CellRefusal['filter']; readonly reason: string };

/** Shapes remembered for one summary. */
const MAX_KEPT_SHAPES = 256;
const kept = new WeakMap<CellSummary, Map<string, Room>>();

/** How many instances seem to fit: the same for a shape until there is a new summary. */
function roomIn(summary: CellSummary, request: CellRequest): Room {
  let rooms = kept.get(summary);
  if (rooms === undefined || rooms.size >= MAX_KEPT_SHAPES) {
    rooms = new Map();
    kept.set(summary, rooms);
  }
  const known = rooms.get(request.shape);
  if (known) return known;
  const room = estimate(summary, request);
  rooms.set(request.shape, room);
  return room;
}

function estimate(summary: CellSummary, request: CellRequest): Room {
  const { commonTraits } = summary;
  const resources = toldOf(summary, request.resources);
  const inZone = classesIn(summary, request.zone);
  if (inZone.length === 0) return { kind: 'refused', filter: 'zone', reason: 'zone' };
  const fitting = inZone.filter((one) => mayFit(one, summary, request));
  if (fitting.length === 0) return { kind: 'refused', filter: 'traits', reason: 'traits' };
  const wide = fitting.filter((one) => lackingIn(one, resources) === undefined);
  if (wide.length === 0) {
    const lacking = leastLacking(fitting, resources);
    return { kind: 'refused', filter: 'capacity', reason: `capacity_${lacking.toLowerCase()}` };
  }
  const isPreferred = wide.some(({ traits }) =>
    request.preferredTraits.every((trait) => commonTraits.has(trait) || traits.has(trait)),
  );
  const fits = wide.reduce((sum, one) => sum + fitsIn(one, resources), 0);
  return { kind: 'room', fits, preference: request.preferredTraits.length > 0 && isPreferred ? 2 : 1 };
}

/** The classes of hosts that may be of a zone; all of them for ''. */
export function classesIn({ classes }: CellSummary, zone: string): readonly HostClass[] {
  return classes.filter((one) => zone === '' || one.zone === '' || one.zone === zone);
}

/** Whether hosts of a class may have the traits that are asked for, room or not. */
export function mayFit(
  { traits, someTraits }: HostClass,
  { commonTraits, classes, isAbridged }: Pick<CellSummary, 'commonTraits' | 'classes' | 'isAbridged'>,
  { requiredTraits, forbiddenTraits }: Pick<CellRequest, 'requiredTraits' | 'forbiddenTraits'>,
): boolean {
  const must = (trait: string) => commonTraits.has(trait) || traits.has(trait);
  const isTold = (trait: string) => classes.some((one) => one.traits.has(trait) || one.someTraits.has(trait));
  const may = (trait: string) => must(trait) || someTraits.has(trait) || (isAbridged && !isTold(trait));
  return requiredTraits.every(may) && !forbiddenTraits.some(must);
}

/** Without what an abridged summary does not name: there may be enough of it. */
function toldOf({ classes, isAbridged }: CellSummary, resources: Resources): Resources {
  if (!isAbridged) return resources;
  const isTold = (name: string) => classes.some(({ free }) => free[name] !== undefined);
  return Object.fromEntries(Object.entries(resources).filter(([name]) => isTold(name)));
}

/** The first resource class of which no host of the class has enough. */
function lackingIn({ free }: HostClass, resources: Resources): string | undefined {
  return Object.keys(resources).find((name) => (free[name]?.most ?? 0) < (resources[name] ?? 0));
}

/** What most classes of hosts have too little of. */
function leastLacking(classes: readonly HostClass[], resources: Resources): string {
  const counts = new Map<string, number>();
  for (const one of classes) {
    const name = lackingIn(one, resources) ?? '';
    counts.set(name, (counts.get(name) ?? 0) + one.hostCount);
  }
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? '';
}

/**
 * Hosts of a class have about as much free: where the mean is below what is asked, some may have enough and most have not. Of what no
 * summary tells each may have enough for one.
 */
function fitsIn({ hostCount, free }: HostClass, resources: Resources): number {
  let perHost = Number.POSITIVE_INFINITY;
  for (const name in resources) {
    const amount = resources[name] as number;
    if (amount > 0) perHost = Math.min(perHost, (free[name]?.total ?? 0) / hostCount / amount);
  }
  if (perHost === Number.POSITIVE_INFINITY) return hostCount;
  return perHost >= 1 ? Math.floor(perHost) * hostCount : (perHost * hostCount) / 2;
}

function takenBy(assumed: Resources, resources: Resources): number {
  let taken = 0;
  for (const name in resources) taken = Math.max(taken, (assumed[name] ?? 0) / (resources[name] as number));
  return taken;
}
