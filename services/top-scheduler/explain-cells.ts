import type { ExplainResponse, ZoneVerdict } from '#libs/contracts/diagnosis';
import { MAX_ZONES } from '#libs/domain/cells/cell-summary';
import { cellRequestOf } from '#libs/domain/cells/rank-cells';
import { zonesFor } from '#libs/domain/cells/spread-zones';
import type { ResolvedSpec } from '#libs/domain/extra-specs/resolve';
import { isOverZones, isSkewed, settled } from '#libs/domain/server-group';
import type { SelectCellDeps } from './ask-cell';
import { diagnosisOf, type Refusal, wordsOf } from './diagnosis-of-cells';
import { rankForGroup } from './select-cell';
import { countsFor, type OfZones, rankInZone, refusalsOverZones } from './select-over-zones';

/** Explains which cells would be asked for an instance, best first, and why no others; no cell is asked. */
export function explainCells(spec: ResolvedSpec, deps: SelectCellDeps): ExplainResponse {
  const { group } = spec;
  if (isOverZones(group)) return explainOverZones({ ...spec, group }, deps);
  const { ranked, refusals } = rankForGroup(spec, 1, deps);
  return explanationOf(ranked, refusals, deps);
}

/** The zones that `selectOverZones` would try for the next member of a group, each with the cells that it would ask. */
function explainOverZones(spec: OfZones, deps: SelectCellDeps): ExplainResponse {
  const among = zonesFor(cellRequestOf(spec), deps.cells.values());
  const tries = countsFor(spec, { instanceUuids: [] }, deps).map((members) => tryZones(spec, among, members, deps));
  const found = tries.find(({ ranked }) => ranked.size > 0) ?? tries.at(-1);
  const { ranked = new Set<string>(), refusals = [], zones = [] } = found ?? {};
  const others = refusalsOverZones(spec, among, refusals, { ...deps, from: [...deps.cells.values()] }).filter(
    ({ cell }) => !ranked.has(cell),
  );
  return { ...explanationOf([...ranked], others, deps), zones: zones.slice(0, MAX_ZONES) };
}

function tryZones(spec: OfZones, among: readonly string[], members: ReadonlyMap<string, number>, deps: SelectCellDeps) {
  const membersIn = (zone: string) => members.get(zone) ?? 0;
  const ranked = new Set<string>();
  const refusals: Refusal[] = [];
  const byMembers = [...among].sort((a, b) => membersIn(a) - membersIn(b));
  const verdicts = byMembers.map((domain): ZoneVerdict => {
    const zone = { zone: domain, members: membersIn(domain) };
    if (isSkewed(spec.group.spread, { domain, among }, (one) => settled(membersIn(one))))
      return { ...zone, cells: [], reason: 'group_is_uneven' };
    const inZone = rankInZone(spec, domain, [...deps.cells.values()], deps);
    refusals.push(...inZone.refusals);
    for (const cell of inZone.ranked) ranked.add(cell);
    return { ...zone, cells: inZone.ranked, reason: inZone.ranked.length > 0 ? '' : 'no_cell' };
  });
  const others = [...members]
    .filter(([zone]) => !among.includes(zone))
    .map(([zone, count]): ZoneVerdict => {
      const isKnown = [...deps.cells.values()].some(({ summary }) => summary?.zones.includes(zone) ?? true);
      return { zone, members: count, cells: [], reason: isKnown ? 'not_for_it' : 'no_such_zone' };
    });
  return {
    ranked,
    refusals,
    zones: [...verdicts, ...others].sort((a, b) => Number(a.reason !== '') - Number(b.reason !== '')),
  };
}

/** Cells in the place of hosts. */
function explanationOf(
  ranked: readonly string[],
  refusals: readonly Refusal[],
  { cells }: SelectCellDeps,
): ExplainResponse {
  const verdict = { weight: 0, weights: {}, roomCosts: [] };
  const passed = ranked.map((host) => ({ ...verdict, host, passed: true, refusals: [] }));
  const refused = refusals.map((one) => ({
    ...verdict,
    host: one.cell,
    passed: false,
    refusals: [`cell_${one.filter}: ${wordsOf(one)}`],
  }));
  return {
    diagnosis: diagnosisOf(cells.size, refusals),
    hosts: [...passed, ...refused],
    relaxations: [],
    conflict: [],
  };
}
