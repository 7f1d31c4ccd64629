import { extname, join } from 'node:path';
import { runJobs } from '#libs/simulation/run-jobs';
import { forkFleet } from '../fork/fork-fleet';
import type { Outcome } from '../outcome/outcome';
import { rehearseOnce } from './rehearse-once';
import type { RehearsalWork } from './worker';

/** Rehearses once with each seed, in several threads, or in this one for a `threadCount` of 1; outcomes in order. */
export async function* rehearse(
  work: RehearsalWork,
  seeds: readonly number[],
  threadCount: number,
): AsyncGenerator<Outcome> {
  if (threadCount > 1 && seeds.length > 1) {
    yield* runJobs<Outcome>({ file: join(__dirname, `worker${extname(__filename)}`), data: work }, seeds, threadCount);
    return;
  }
  const fleet = forkFleet(work.snapshot, work.fork);
  for (const seed of seeds) yield await rehearseOnce(fleet, work.options, seed);
}
