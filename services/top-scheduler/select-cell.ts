import { callMethod } from '#libs/bus/typed-calls';
import type { Diagnosis, SelectDestinationsRequest, SelectDestinationsResponse } from '#libs/contracts/messages';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { selectDestinationsMethod } from '#libs/contracts/selection';
import { type CellRefusal, type CellRequest, cellRequestOf, rankCells } from '#libs/domain/cells/rank-cells';
import { BerthError, invalidArgument } from '#libs/domain/errors';
import type { ResolvedSpec } from '#libs/domain/extra-specs/resolve';
import type { Random } from '#libs/domain/random';
import type { KnownCell } from './known-cell';

export interface SelectCellDeps {
  readonly cells: ReadonlyMap<string, KnownCell>;
  readonly random: Random;
  readonly config: { readonly maxAsked: number; readonly askTimeoutMs: number; readonly refusalMs: number };
  /** Told of each cell that was asked: whether it took the request. */
  readonly onAsked?: (outcome: 'selected' | 'refused' | 'unreachable') => void;
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
  const { ranked, refusals } = rankCells(wanted, least, candidates(deps, request.cell), deps.random);
  const told: Refusal[] = [...refusals];
  for (const name of ranked.slice(0, deps.config.maxAsked)) {
    const cell = deps.cells.get(name);
    const outcome = cell && (await ask(cell, wanted, request, deps));
    if (outcome === undefined) continue;
    if (outcome.kind === 'selected') return { ...outcome.response, cell: name };
    told.push(outcome.refusal);
  }
  for (const cell of ranked.slice(deps.config.maxAsked)) told.push({ cell, filter: 'asked', reason: 'not_asked' });
  const [best] = ranked;
  const noValidHost = diagnosisOf(deps.cells.size, told);
  return { destinations: [], noValidHost, ...(best === undefined ? {} : { cell: best }) };
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
    cell.refused(wanted.shape, request.minCount || count, config.refusalMs);
    const says = response.noValidHost?.summary ?? '';
    const reason = response.noValidHost?.quotaExceeded.length ? 'quota_exceeded' : 'no_valid_host';
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
