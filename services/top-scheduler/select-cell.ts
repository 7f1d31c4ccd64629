import type { Destination, SelectDestinationsRequest, SelectDestinationsResponse } from '#libs/contracts/selection';
import { type CellRequest, cellRequestOf, rankCells } from '#libs/domain/cells/rank-cells';
import { invalidArgument } from '#libs/domain/errors';
import type { ResolvedSpec } from '#libs/domain/extra-specs/resolve';
import { isOfOneCell, isOverZones, nameOfFleetGroup } from '#libs/domain/server-group';
import { askCell, type SelectCellDeps } from './ask-cell';
import { diagnosisOf, type Refusal } from './diagnosis-of-cells';
import type { KnownCell } from './known-cell';
import { giveBackTo, selectAsMany } from './select-as-many';
import { selectOverZones } from './select-over-zones';

/**
 * Chooses a cell for a request whose schedulers claim hosts there: one decision.
 *
 *     rank the cells by their summaries ──▶ ask the best ──▶ it claims: its answer
 *                                           ▲     └─ it refuses, or does not answer: the next, up to `maxAsked`
 *
 * The naive way is a mirror of all hosts at the top. It fails at size: a million hosts that change all the time are
 * more than one process can follow. So the top has summaries, a second old, and may guess wrong; the cell has the last
 * word, and a wrong guess costs one more call. A cell that does not answer in time may have claimed all the same: such
 * a claim has no record, and the cell's audit releases it.
 */
export async function selectCell(
  spec: ResolvedSpec,
  request: SelectDestinationsRequest,
  deps: SelectCellDeps,
): Promise<SelectDestinationsResponse> {
  const { group } = spec;
  if (isOverZones(group) && (!request.cell || request.choosesZone)) {
    return selectOverZones({ ...spec, group }, request, candidates(deps, request.cell), deps);
  }
  const wanted = cellRequestOf(spec);
  const least = request.minCount || request.instanceUuids.length;
  const { ranked, refusals } = request.cell
    ? rankCells(wanted, least, candidates(deps, request.cell), deps.random)
    : rankForGroup(spec, least, deps);
  const told: Refusal[] = [...refusals];
  for (const name of ranked.slice(0, deps.config.maxAsked)) {
    const cell = deps.cells.get(name);
    const outcome = cell && (await askCell(cell, wanted, request, deps));
    if (outcome === undefined) continue;
    if (outcome.kind === 'selected') return { ...outcome.response, cell: name };
    told.push(outcome.refusal);
  }
  for (const cell of ranked.slice(deps.config.maxAsked)) told.push({ cell, filter: 'asked', reason: 'not_asked' });
  const noValidHost = diagnosisOf(deps.cells.size, told);
  if (!request.cell && mayDivide(spec, request)) {
    const divided = await selectAcross(wanted, request, least, deps);
    if (divided.length > 0) return { destinations: divided, noValidHost };
  }
  const [best] = ranked;
  return { destinations: [], noValidHost, ...(best === undefined ? {} : { cell: best }) };
}

/**
 * The cells that may take `count` instances, best first, and the refusals of the others: the cell of its group's
 * members comes first, or alone for a group bound to one cell.
 */
export function rankForGroup(
  spec: ResolvedSpec,
  count: number,
  deps: Pick<SelectCellDeps, 'cells' | 'cellOfGroup' | 'random'>,
): { readonly ranked: readonly string[]; readonly refusals: readonly Refusal[] } {
  const home = homeOf(spec, deps);
  const isElsewhere = ({ name }: KnownCell) => home?.isBinding === true && name !== home.cell;
  const all = [...deps.cells.values()];
  const open = all.filter((cell) => !isElsewhere(cell));
  const { ranked, refusals } = rankCells(cellRequestOf(spec), count, open, deps.random);
  const others = all.filter(isElsewhere).map(({ name }): Refusal => {
    return { cell: name, filter: 'affinity', reason: 'group_is_elsewhere' };
  });
  return {
    ranked: [...ranked].sort((a, b) => Number(b === home?.cell) - Number(a === home?.cell)),
    refusals: [...refusals, ...others],
  };
}

/** The cell of the group's other members, and whether it is binding. */
function homeOf({ projectId, group }: ResolvedSpec, { cellOfGroup }: Pick<SelectCellDeps, 'cellOfGroup'>) {
  if (group?.policy === undefined) return undefined;
  const isBinding = isOfOneCell(group);
  if (!isBinding && group.policy !== 'soft-affinity') return undefined;
  const cell = cellOfGroup?.(projectId, nameOfFleetGroup(group.id));
  return cell === undefined ? undefined : { cell, isBinding };
}

/** True when instances of a request may go to different cells. */
function mayDivide(
  { group }: ResolvedSpec,
  { instanceUuids, inOneCell, furtherKinds }: SelectDestinationsRequest,
): boolean {
  if (inOneCell || furtherKinds) return false;
  return instanceUuids.length > 1 && (group?.policy === undefined || !isOfOneCell(group));
}

/**
 * Divides a request that no cell takes whole among several, as many as each takes.
 *
 * In two phases: cells claim what they select, and nothing is built before all are selected. If there are not enough,
 * the selections are released; in a cell that does not get that message the claims have no records, and its audit
 * releases them.
 *
 * @param least  the minimum; below it, none
 */
async function selectAcross(
  wanted: CellRequest,
  request: SelectDestinationsRequest,
  least: number,
  deps: SelectCellDeps,
): Promise<readonly Destination[]> {
  const { ranked } = rankCells(wanted, 1, candidates(deps), deps.random);
  const { selected, count } = await selectAsMany(ranked, wanted, request, deps);
  if (count >= least) return [...selected.values()].flat();
  for (const [cell, destinations] of selected) await giveBackTo(cell, destinations, wanted, deps);
  return [];
}

function candidates({ cells }: SelectCellDeps, only = ''): readonly KnownCell[] {
  if (only === '') return [...cells.values()];
  const cell = cells.get(only);
  if (cell) return [cell];
  throw invalidArgument(
    'unknown_cell',
    `there is no cell '${only}'; 'berth cell list' shows the cells of the fleet`,
    'cell',
  );
}
