import { isDeepStrictEqual } from 'node:util';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Destination, SelectDestinationsRequest, SelectDestinationsResponse } from '#libs/contracts/selection';
import { type CellRequest, cellRequestOf, rankCells } from '#libs/domain/cells/rank-cells';
import { spreadEvenly, zonesFor } from '#libs/domain/cells/spread-zones';
import type { ResolvedSpec } from '#libs/domain/extra-specs/resolve';
import { nameOfFleetGroup, type ServerGroup, type Spread } from '#libs/domain/server-group';
import { groupBy } from '#libs/runtime/group-by';
import type { SelectCellDeps } from './ask-cell';
import { diagnosisOf, type Refusal } from './diagnosis-of-cells';
import type { KnownCell } from './known-cell';
import { giveBackTo, selectAsMany } from './select-as-many';

/** A request of a group that spreads over zones. */
export type OfZones = ResolvedSpec & { readonly group: ServerGroup & { readonly spread: Spread } };

/** A cell's selection in a zone. */
interface InZone {
  readonly cell: KnownCell;
  readonly zone: string;
  readonly destination: Destination;
}

interface ZoneDeps extends SelectCellDeps {
  /** The cells that may be asked. */
  readonly from: readonly KnownCell[];
}

/**
 * Selects for members of a group that spreads over the zones of all cells: decides each member's zone here, and asks a
 * cell with that zone for a host in it.
 *
 *     zones of all enabled cells, members in each ──▶ a zone for each instance ──▶ its cells, best first, claim as many as they can
 *                                                        ▲     └─ a zone is full: the rest once more over the others
 *
 * The naive way lets each cell keep its part of the group even. It fails because each cell sees its own zones: two even
 * parts are an uneven whole. So a cell is asked for one zone at a time, in which it has nothing to balance, and the
 * whole is balanced twice: here, from the mirror, and in the commit at the top's store, with which the caller reserves
 * the places. Selections that would leave the group uneven, because another zone had too little capacity, are released.
 *
 * @param from  the cells that may be asked; members are compared over the zones of all
 */
export async function selectOverZones(
  spec: OfZones,
  request: SelectDestinationsRequest,
  from: readonly KnownCell[],
  deps: SelectCellDeps,
): Promise<SelectDestinationsResponse> {
  const { projectId, group } = spec;
  const asking: ZoneDeps = { ...deps, from };
  const name = nameOfFleetGroup(group.id);
  const count = request.instanceUuids.length;
  const least = request.minCount || count;
  const among = zonesFor(cellRequestOf(spec), deps.cells.values());
  const refusals: Refusal[] = [];
  for (const members of countsFor(spec, request, deps)) {
    const zones = among.map((zone) => ({ zone, members: members.get(zone) ?? 0 }));
    const found = await selectByZone(spec, zones, request, asking);
    refusals.push(...found.refusals);
    const rooms = zones.map((one) => ({ ...one, room: found.selected.filter(({ zone }) => zone === one.zone).length }));
    const places = spreadEvenly(group.spread, count, rooms);
    const kept = places.length >= least ? take(found.selected, places) : [];
    await giveBackAll(
      found.selected.filter((one) => !kept.includes(one)),
      cellRequestOf(spec),
      deps,
    );
    if (kept.length === 0) continue;
    deps.zoneMembers.expect(projectId, name, new Map(kept.map((one) => [one.destination.instanceUuid, one.zone])));
    const destinations = kept.map(({ destination, zone }) => ({ ...destination, zone }));
    const noValidHost = kept.length < count ? diagnosisOverZones(spec, among, refusals, asking) : undefined;
    return { destinations, noValidHost, zones: among };
  }
  return { destinations: [], noValidHost: diagnosisOverZones(spec, among, refusals, asking) };
}

/**
 * Members by zone: with the expected ones, which may not arrive; then, if that leaves no place, only the present ones.
 */
export function countsFor(
  { projectId, group }: OfZones,
  { instanceUuids, minRevision }: Pick<SelectDestinationsRequest, 'instanceUuids' | 'minRevision'>,
  { zoneMembers }: SelectCellDeps,
): readonly ReadonlyMap<string, number>[] {
  const countOf = (which: 'held' | 'expected') =>
    zoneMembers.count(projectId, nameOfFleetGroup(group.id), instanceUuids, which);
  const held = countOf('held');
  if (minRevision) return [held];
  const expected = countOf('expected');
  return isDeepStrictEqual(expected, held) ? [held] : [expected, held];
}

/** Selects as many as the zones have capacity for, in an order that keeps the group even as far as known. */
async function selectByZone(
  spec: OfZones,
  zones: readonly { readonly zone: string; readonly members: number }[],
  request: SelectDestinationsRequest,
  deps: ZoneDeps,
): Promise<{ readonly selected: readonly InZone[]; readonly refusals: readonly Refusal[] }> {
  const selected: InZone[] = [];
  const refusals: Refusal[] = [];
  // Zones that no askable cell has, or without capacity there.
  const full = new Set(zones.map(({ zone }) => zone).filter((zone) => !deps.from.some((cell) => hasZone(cell, zone))));
  let rest = request.instanceUuids;
  // Each round but the last fills a zone.
  for (let round = 0; round <= zones.length && rest.length > 0; round++) {
    const open = zones.map(({ zone, members }) => ({
      zone,
      members: members + selected.filter((one) => one.zone === zone).length,
      room: full.has(zone) ? 0 : Number.POSITIVE_INFINITY,
    }));
    const places = spreadEvenly(spec.group.spread, rest.length, shuffled(open, deps));
    if (places.length === 0) break;
    const shares = groupBy(
      places.map((zone, n) => ({ zone, uuid: rest[n] as string })),
      (one) => one.zone,
    );
    await Promise.all(
      [...shares].map(async ([zone, share]) => {
        const instanceUuids = share.map(({ uuid }) => uuid);
        const found = await selectInZone(spec, zone, { ...request, instanceUuids }, deps);
        refusals.push(...found.refusals);
        selected.push(...found.selected);
        if (found.selected.length < share.length) full.add(zone);
      }),
    );
    const taken = new Set(selected.map(({ destination }) => destination.instanceUuid));
    rest = rest.filter((uuid) => !taken.has(uuid));
  }
  return { selected, refusals };
}

/** Shuffles equal zones, so that concurrent top schedulers choose differently. */
function shuffled<T>(zones: readonly T[], { random }: Pick<SelectCellDeps, 'random'>): readonly T[] {
  return zones
    .map((zone) => ({ zone, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ zone }) => zone);
}

/** Selects as many in one zone as its cells have capacity for. */
async function selectInZone(spec: OfZones, zone: string, request: SelectDestinationsRequest, deps: ZoneDeps) {
  const { wanted, ranked } = rankInZone(spec, zone, deps.from, deps);
  const requestSpec = requestSpecCodec.encode({
    ...requestSpecCodec.decode(request.requestSpec),
    availabilityZone: zone,
  });
  const { selected, refusals } = await selectAsMany(ranked, wanted, { ...request, requestSpec }, deps);
  const inZones = [...selected].flatMap(([cell, its]) => its.map((destination) => ({ cell, zone, destination })));
  return { selected: inZones, refusals };
}

/** The cells that may take a member in one zone, best first, and the refusals of the others that have it. */
export function rankInZone(spec: OfZones, zone: string, from: readonly KnownCell[], deps: SelectCellDeps) {
  const wanted = cellRequestOf({ ...spec, availabilityZone: zone });
  const having = from.filter((cell) => hasZone(cell, zone));
  const { ranked, refusals } = rankCells(wanted, 1, having, deps.random);
  const { policy, id } = spec.group;
  const home = policy === 'soft-affinity' ? deps.cellOfGroup?.(spec.projectId, nameOfFleetGroup(id)) : undefined;
  return { wanted, ranked: [...ranked].sort((a, b) => Number(b === home) - Number(a === home)), refusals };
}

function hasZone({ summary }: Pick<KnownCell, 'summary'>, zone: string): boolean {
  return summary?.zones.includes(zone) ?? false;
}

/** One selection per place, in this order. */
function take(selected: readonly InZone[], places: readonly string[]): readonly InZone[] {
  const byZone = groupBy(selected, ({ zone }) => zone);
  return places.map((zone) => byZone.get(zone)?.shift() as InZone);
}

async function giveBackAll(excess: readonly InZone[], wanted: CellRequest, deps: SelectCellDeps): Promise<void> {
  const byCell = groupBy(excess, ({ cell }) => cell);
  await Promise.all(
    [...byCell].map(([cell, its]) =>
      giveBackTo(
        cell,
        its.map(({ destination }) => destination),
        wanted,
        deps,
      ),
    ),
  );
}

/** Why no zone took them, or not all. */
function diagnosisOverZones(spec: OfZones, among: readonly string[], asked: readonly Refusal[], deps: ZoneDeps) {
  return diagnosisOf(deps.from.length, refusalsOverZones(spec, among, asked, deps));
}

/**
 * Why each cell takes no member in any zone, by its answer, or its summary; a cell without either has only zones whose
 * number of members is at the limit.
 */
export function refusalsOverZones(
  spec: OfZones,
  among: readonly string[],
  asked: readonly Refusal[],
  deps: ZoneDeps,
): readonly Refusal[] {
  const byCell = new Map(asked.map((refusal) => [refusal.cell, refusal]));
  const { ranked, refusals } = rankCells(cellRequestOf(spec), 1, deps.from, deps.random);
  const others = ranked.map((cell): Refusal => {
    const isOfZones = deps.cells.get(cell)?.summary?.zones.some((zone) => among.includes(zone)) ?? false;
    return isOfZones
      ? { cell, filter: 'spread', reason: 'group_is_uneven' }
      : { cell, filter: 'zone', reason: 'no_zone' };
  });
  return [...refusals, ...others].map((refusal) => byCell.get(refusal.cell) ?? refusal);
}
