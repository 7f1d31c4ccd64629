import type { Diagnosis } from '#libs/contracts/diagnosis';
import type { CellRefusal } from '#libs/domain/cells/rank-cells';
import { counted } from '#libs/runtime/counted';

/** Why a cell was not chosen: by its summary, its own answer, or its group's place. */
export type Refusal = Omit<CellRefusal, 'filter'> & {
  readonly filter: CellRefusal['filter'] | 'affinity' | 'spread';
  readonly says?: string;
};

/** In the order of evaluation. */
const FILTERS = ['enabled', 'reachable', 'zone', 'traits', 'affinity', 'spread', 'capacity', 'asked'] as const;
/** Limit of the cells that a sentence names. */
const MAX_NAMED = 5;

/** Why no cell was chosen. It counts cells. */
export function diagnosisOf(cellCount: number, refusals: readonly Refusal[]): Diagnosis {
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
  const named = refusals.slice(0, MAX_NAMED).map((refusal) => `${refusal.cell}: ${wordsOf(refusal)}`);
  const more = refusals.length > MAX_NAMED ? `; and ${refusals.length - MAX_NAMED} more` : '';
  return `${counted(cellCount, 'cell')} considered, ${cellCount - refusals.length} passed${named.length > 0 ? `; ${named.join('; ')}` : ''}${more}`;
}

/** Why a cell was not chosen, for people. */
export function wordsOf({ filter, reason, says }: Refusal): string {
  return says ? `asked, and ${says}` : WORDS[filter](reason);
}

const WORDS: Readonly<Record<Refusal['filter'], (reason: string) => string>> = {
  enabled: (reason) => `${reason}, gets no new builds`,
  reachable: (reason) => `unreachable (${reason})`,
  zone: (reason) => (reason === 'no_zone' ? 'has no zone that members may go to' : 'has no host in that zone'),
  traits: () => 'no host there has such traits',
  affinity: () => 'the members of its group are in another cell',
  spread: () => 'its zones have as many members of the group as they may',
  capacity: (reason) => `no host there has enough free (${reason})`,
  asked: (reason) =>
    reason === 'not_asked' ? 'was not asked: enough others refused' : `asked, and refused (${reason})`,
};
