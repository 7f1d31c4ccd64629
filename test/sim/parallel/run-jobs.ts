import { join } from 'node:path';
import { runJobs as runAnyJobs } from '#libs/simulation/run-jobs';
import type { Job, Outcome } from './job';

/** Does jobs of a simulation in several threads; what comes of them is in the order of the jobs. */
export function runJobs<J extends Job>(jobs: readonly J[], threadCount: number): AsyncGenerator<Outcome[J['kind']]> {
  return runAnyJobs({ file: join(__dirname, 'worker.js') }, jobs, threadCount);
}
