import { callMethod } from '#libs/bus/typed-calls';
import { giveBack } from '#libs/cells/give-back';
import type {
  Destination,
  Diagnosis,
  SelectDestinationsRequest,
  SelectDestinationsResponse,
} from '#libs/contracts/messages';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { selectDestinationsMethod } from '#libs/contracts/selection';
import { type CellRefusal, type CellRequest, cellRequestOf, rankCells } from '#libs/domain/cells/rank-cells';
import { BerthError, invalidArgument } from '#libs/domain/errors';
import type { ResolvedSpec } from '#libs/domain/extra-specs/resolve';
import type { Random } from '#libs/domain/random';
import { isOfOneCell, nameOfFleetGroup } from '#libs/domain/server-group';
import type { KnownCell } from './known-cell';

export interface SelectCellDeps {
  readonly cells: ReadonlyMap<string, KnownCell>;
  readonly random: Random;
  readonly config: { readonly maxAsked: number; readonly askTimeoutMs: number; readonly refusalMs: number };
  /** The cell that members of a group are in; undefined when there are none. */
  readonly cellOfGroup?: (projectId: string, groupId: string) => string | undefined;
  /** Told of each cell that was asked: whether it took the request. */
  readonly onAsked?: (outcome: 'selected' | 'refused' | 'unreachable') => void;
  /** Told what could not be given back at once. */
  readonly onKept?: (cell: string, error: BerthError) => void;
}

/** Why a cell was not chosen: by what its summary says, or by its own word. */
type Refusal = CellRefusal & { readonly says?: string };

/**
 * Chooses a cell for a request and has its schedulers claim hosts there: one decision.
 *
 *     rank the cells by their summaries ──▶ ask the best ──▶ it claims: its answer
 *                                           ▲     └─ it refuses, or does not answer: the next, up to `maxAsked`
 *
 * The naive way is a mirror of all hosts at the top. It fails at size: a million hosts that change all the time are more than one
 * process can follow. So the top has summaries, a second old, and may guess wrong; the cell has the last word, and a wrong guess
 * costs one more call. A cell that does not answer in time may have claimed all the same: such a claim has no record, and the
 * cell's audit releases it.
 */
export async function selectCell(
  spec: ResolvedSpec,
  request: SelectDestinationsRequest,
  deps: SelectCellDeps,
): Promise<SelectDestinationsResponse> {
  const wanted = cellRequestOf(spec);
  const least = request.minCount || request.instanceUuids.length;
  const home = homeOf(spec, deps);
  const only = request.cell || (home?.isBinding ? home.cell : '');
  const { ranked: byRoom, refusals } = rankCells(wanted, least, candidates(deps, only), deps.random);
  const ranked = [...byRoom].sort((a, b) => Number(b === home?.cell) - Number(a === home?.cell));
  const told: Refusal[] = [...refusals];
  for (const name of ranked.slice(0, deps.config.maxAsked)) {
    const cell = deps.cells.get(name);
    const outcome = cell && (await ask(cell, wanted, request, deps));
    if (outcome === undefined) continue;
    if (outcome.kind === 'selected') return { ...outcome.response, cell: name };
    told.push(outcome.refusal);
  }
  for (const cell of ranked.slice(deps.config.maxAsked)) told.push({ cell, filter: 'asked', reason: 'not_asked' });
  const noValidHost = diagnosisOf(deps.cells.size, told);
  if (only === '' && mayDivide(spec, request)) {
    const divided = await selectAcross(wanted, request, least, deps);
    if (divided.length > 0) return { destinations: divided, noValidHost };
  }
  const [best] = ranked;
  return { destinations: [], noValidHost, ...(best === undefined ? {} : { cell: best }) };
}

/** Where the other members of its group are, and whether it has to go there. */
function homeOf({ projectId, group }: ResolvedSpec, { cellOfGroup }: SelectCellDeps) {
  if (group?.policy === undefined) return undefined;
  const isBinding = isOfOneCell(group);
  if (!isBinding && group.policy !== 'soft-affinity') return undefined;
  const cell = cellOfGroup?.(projectId, nameOfFleetGroup(group.id));
  return cell === undefined ? undefined : { cell, isBinding };
}

/** Whether instances of a request may go to different cells. */
function mayDivide({ group }: ResolvedSpec, { instanceUuids }: SelectDestinationsRequest): boolean {
  return instanceUuids.length > 1 && (group?.policy === undefined || !isOfOneCell(group));
}

/**
 * Divides a request that no cell takes in whole: each cell, best first, selects as many of the rest as it can, until there are enough.
 *
 * In two phases: what cells select they have claimed, and nothing is built before all is selected. When it is not enough, what was
 * selected is given back; a cell that does not hear that has claims without records, which its audit releases.
 *
 * @param least  so many, or none
 */
async function selectAcross(
  wanted: CellRequest,
  request: SelectDestinationsRequest,
  least: number,
  deps: SelectCellDeps,
): Promise<readonly Destination[]> {
  const { ranked } = rankCells(wanted, 1, candidates(deps), deps.random);
  const selected = new Map<KnownCell, readonly Destination[]>();
  let rest = request.instanceUuids;
  for (const name of ranked.slice(0, deps.config.maxAsked)) {
    const cell = deps.cells.get(name);
    if (cell === undefined || rest.length === 0) continue;
    const outcome = await ask(cell, wanted, { ...request, instanceUuids: rest, minCount: 1 }, deps);
    if (outcome.kind !== 'selected') continue;
    const { destinations } = outcome.response;
    selected.set(cell, destinations);
    const taken = new Set(destinations.map(({ instanceUuid }) => instanceUuid));
    rest = rest.filter((uuid) => !taken.has(uuid));
  }
  if (request.instanceUuids.length - rest.length >= least) return [...selected.values()].flat();
  for (const [cell, destinations] of selected) {
    cell.selected(wanted.resources, -destinations.length);
    await Promise.resolve()
      .then(() => giveBack(cell.link.bus, destinations))
      .catch((thrown: unknown) => deps.onKept?.(cell.name, BerthError.from(thrown)));
  }
  return [];
}

/** Which cells would be asked, best first, and why no others: nobody is asked. */
export function explainCells(spec: ResolvedSpec, { cells, random }: SelectCellDeps) {
  const { ranked, refusals } = rankCells(cellRequestOf(spec), 1, [...cells.values()], random);
  return { ranked, refusals, diagnosis: diagnosisOf(cells.size, refusals) };
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

type Outcome =
  | { readonly kind: 'selected'; readonly response: SelectDestinationsResponse }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/** @throws BerthError what the cell says of the request itself: no other cell would say otherwise. */
async function ask(
  cell: KnownCell,
  wanted: CellRequest,
  request: SelectDestinationsRequest,
  { config, onAsked }: SelectCellDeps,
): Promise<Outcome> {
  const count = request.instanceUuids.length;
  const { cell: _only, ...asked } = request;
  try {
    const options = { timeoutMs: config.askTimeoutMs };
    const response = await callMethod(cell.link.bus, RPC_SCHEDULER, selectDestinationsMethod, asked, options);
    if (response.destinations.length > 0) {
      onAsked?.('selected');
      cell.selected(wanted.resources, response.destinations.length);
      return { kind: 'selected', response };
    }
    onAsked?.('refused');
    const says = response.noValidHost?.summary ?? '';
    const reason = response.noValidHost?.quotaExceeded.length ? 'quota_exceeded' : 'no_valid_host';
    const isOfShape = wanted.isShapeAlone && reason === 'no_valid_host';
    cell.refused(isOfShape ? wanted.shape : undefined, request.minCount || count, config.refusalMs);
    return { kind: 'refused', refusal: { cell: cell.name, filter: 'asked', reason, says } };
  } catch (thrown) {
    const error = BerthError.from(thrown);
    if (!SAYS_NOTHING_OF_THE_REQUEST.includes(error.code)) throw error;
    onAsked?.('unreachable');
    cell.failed(error);
    return { kind: 'refused', refusal: { cell: cell.name, filter: 'reachable', reason: error.reason } };
  }
}

const SAYS_NOTHING_OF_THE_REQUEST: readonly BerthError['code'][] = [
  'unavailable',
  'deadline_exceeded',
  'resource_exhausted',
  'aborted',
  'internal',
  'permission_denied',
];

/** In the order in which people ask. */
const FILTERS = ['enabled', 'reachable', 'zone', 'traits', 'capacity', 'asked'] as const;
/** Cells that a sentence names. */
const MAX_NAMED = 5;

/** Why no cell was chosen. Its counts are cells. */
function diagnosisOf(cellCount: number, refusals: readonly Refusal[]): Diagnosis {
  const filters = FILTERS.flatMap((filter) => {
    const mine = refusals.filter((refusal) => refusal.filter === filter);
    if (mine.length === 0) return [];
    const reasons: Record<string, number> = {};
    for (const { reason } of mine) reasons[reason] = (reasons[reason] ?? 0) + 1;
    return [{ filter: `cell_${filter}`, refused: mine.length, reasons }];
  });
  return {
    hostsConsidered: cellCount,
    hostsPassed: cellCount - refusals.length,
    filters,
    claimConflicts: 0,
    summary: sentenceOf(cellCount, refusals),
    quotaExceeded: [],
  };
}

function sentenceOf(cellCount: number, refusals: readonly Refusal[]): string {
  const named = refusals.slice(0, MAX_NAMED).map(({ cell, filter, reason, says }) => {
    return `${cell}: ${says ? `asked, and ${says}` : WORDS[filter](reason)}`;
  });
  const more = refusals.length > MAX_NAMED ? `; and ${refusals.length - MAX_NAMED} more` : '';
  return `${cellCount} cells considered, ${cellCount - refusals.length} passed${named.length > 0 ? `; ${named.join('; ')}` : ''}${more}`;
}

const WORDS: Readonly<Record<Refusal['filter'], (reason: string) => string>> = {
  enabled: (reason) => `${reason}, gets no new builds`,
  reachable: (reason) => `unreachable (${reason})`,
  zone: () => 'has no host in that zone',
  traits: () => 'no host there has such traits',
  capacity: (reason) => `no host there has enough free (${reason})`,
  asked: (reason) =>
    reason === 'not_asked' ? 'was not asked: enough others refused' : `asked, and refused (${reason})`,
};
