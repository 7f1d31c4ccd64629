import type { ShowProgress } from '../views/progress';
import { apply, type Failure, keyOf } from './apply';
import { type Comparison, compare, type Difference } from './compare';
import type { Endpoint } from './endpoint';
import { readSnapshot, type Snapshot } from './snapshot';

export interface ImportRequest {
  readonly from: Endpoint;
  readonly to: Endpoint;
  /** Reads and compares only. */
  readonly isDryRun: boolean;
  /** Deletes what only the destination has. */
  readonly deletesExtra: boolean;
  /** Wraps each step with a display of its progress. */
  readonly step: <T>(what: string, work: (show: ShowProgress) => Promise<T>) => Promise<T>;
}

export interface ImportResult {
  readonly source: Snapshot;
  readonly writes: number;
  /** After the last write; before the first one of a dry run. */
  readonly differences: readonly Difference[];
  readonly failures: readonly Failure[];
}

/** More rounds than an import needs that nobody disturbs: what was in the way is gone after the first. */
const MAX_ROUNDS = 5;

/**
 * Makes one placement API hold what another holds.
 *
 * Both are read and compared, and what differs is written, until nothing does or no write helps any more; at the end both
 * are read again and compared. Nothing else is remembered: an import that was killed, or that others disturbed, is run
 * again, and writes what is left.
 */
export async function runImport(request: ImportRequest): Promise<ImportResult> {
  const { from, to, isDryRun, deletesExtra, step } = request;
  const by: Comparison = { hasConsumerTypes: from.minor >= 38 && to.minor >= 38, hasGenerations: to.isBerth };
  let source = await step('reading the source', (show) => readSnapshot(from, show));
  let writes = 0;
  let failures: readonly Failure[] = [];
  let before = '';
  for (let round = 1; ; round++) {
    const destination = await step('reading the destination', (show) => readSnapshot(to, show));
    const differences = compare(source, destination, by);
    const open = differences.filter(({ aspect }) => deletesExtra || aspect !== 'extra');
    if (isDryRun) return { source, writes, differences, failures };
    const now = open.map((one) => `${keyOf(one)} ${one.aspect}`).join('\n');
    if (open.length === 0 || now === before || round > MAX_ROUNDS) break;
    before = now;
    const plan = { source, destination, differences, deletesExtra };
    const outcome = await step('writing', (show) => apply(to, plan, show));
    writes += outcome.writes;
    failures = outcome.failures;
  }
  source = await step('reading the source again', (show) => readSnapshot(from, show));
  const destination = await step('reading the destination again', (show) => readSnapshot(to, show));
  const differences = compare(source, destination, by);
  const isOpen = new Set(differences.map(keyOf));
  return { source, writes, differences, failures: failures.filter((failure) => isOpen.has(keyOf(failure))) };
}
