import type { ResolvedSpec } from '../extra-specs/resolve';
import type { Resources } from '../inventory';
import type { Random } from '../random';
import type { CellState, CellSummary, HostClass } from './cell-summary';

/** A request as far as a cell summary can answer it. */
export interface CellRequest {
  /** Equal for requests that a summary answers alike. */
  readonly shape: string;
  /**
   * True when the shape alone decides, without other group members, named hosts, devices and the like. Only then does a refusal
   * hold for other requests of the shape.
   */
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
  /** The reason why the cell can't be asked; '' when it can. */
  readonly unreachable: string;
  /** Undefined before the first; such a cell is asked after the known ones. */
  readonly summary: CellSummary | undefined;
  /** Resources of builds sent there since the summary was made. */
  readonly assumed: Resources;
  /**
   * The least count of instances of this shape that the cell refused after its summary; infinite when it refused none.
   */
  readonly refusedSince: (shape: string) => number;
  /** The least count of instances of this shape that the cell refused lately; infinite when it refused none. */
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

/**
 * The part of a spec that a summary can answer. Groups are added up as if one host met them all; the cell checks the
 * rest.
 */
export function cellRequestOf(spec: ResolvedSpec): CellRequest {
  const resources: Record<string, number> = { ...spec.resources };
  for (const group of spec.requestGroups) {
    for (const [name, amount] of Object.entries(group.resources)) resources[name] = (resources[name] ?? 0) + amount;
  }
  const { forbiddenTraits, preferredTraits, rootRequiredTraits, rootForbiddenTraits } = spec;
  const requiredTraits = [...new Set([...spec.requiredTraits, ...rootRequiredTraits])];
  const sorted = Object.entries(resources).sort(([a], [b]) => (a < b ? -1 : 1));
  const zone = spec.availabilityZone ?? '';
  const lists = [requiredTraits, forbiddenTraits, preferredTraits].map((names) => [...names].sort());
  const named = [spec.sameHost, spec.differentHost, spec.forceHosts, spec.ignoreHosts, spec.memberOf];
  // A summary does not tell of these: a refusal may be theirs.
  const untold = [
    rootForbiddenTraits,
    spec.requestGroups,
    spec.deviceRequests,
    spec.forbiddenAggregates,
    Object.keys(spec.extraSpecs),
    Object.keys(spec.imageProperties),
  ];
  const isShapeAlone = spec.group === undefined && [...named, ...untold].every((names) => names.length === 0);
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
 * The cells that may take `count` instances, best first: those that seem to fit all, then some, then those without a
 * summary, then those that refused this shape lately. Cells with more free capacity come earlier, with a random
 * element, so that concurrent top schedulers with equal summaries choose differently.
 *
 * A summary errs towards too much capacity: what it rules out the cell would refuse; what it passes the cell may still
 * refuse, at the price of one more call.
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

/** Limit of the shapes cached for one summary. */
const MAX_KEPT_SHAPES = 256;
const kept = new WeakMap<CellSummary, Map<string, Room>>();

/** Estimated instances of a shape that fit, cached until the next summary. */
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

/** The classes whose hosts may be in a zone; all classes for ''. */
export function classesIn({ classes }: CellSummary, zone: string): readonly HostClass[] {
  return classes.filter((one) => zone === '' || one.zone === '' || one.zone === zone);
}

/** True when hosts of a class may have the requested traits, whatever their free capacity. */
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

/** The resources without classes that an abridged summary leaves out; the cell may have enough of those. */
function toldOf({ classes, isAbridged }: CellSummary, resources: Resources): Resources {
  if (!isAbridged) return resources;
  const isTold = (name: string) => classes.some(({ free }) => free[name] !== undefined);
  return Object.fromEntries(Object.entries(resources).filter(([name]) => isTold(name)));
}

/** The first resource class that no host of the class has enough of. */
function lackingIn({ free }: HostClass, resources: Resources): string | undefined {
  return Object.keys(resources).find((name) => (free[name]?.most ?? 0) < (resources[name] ?? 0));
}

/** The resource class that most host classes lack. */
function leastLacking(classes: readonly HostClass[], resources: Resources): string {
  const counts = new Map<string, number>();
  for (const one of classes) {
    const name = lackingIn(one, resources) ?? '';
    counts.set(name, (counts.get(name) ?? 0) + one.hostCount);
  }
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? '';
}

/**
 * An estimate from similar hosts: when the mean is below the requested amount, some hosts may have enough and most have
 * not. If the summary names none of the classes, each host counts for one instance.
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
