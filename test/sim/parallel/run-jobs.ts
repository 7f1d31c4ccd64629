import { join } from 'node:path';
import { type JobThreads, openJobThreads } from '#libs/simulation/run-jobs';
import type { Job, Outcome } from './job';

let threads: JobThreads | undefined;

/**
 * Does jobs of a simulation in several threads; what comes of them is in the order of the jobs. The threads, as many as the first call
 * wants, live as long as the process.
 */
export function runJobs<J extends Job>(jobs: readonly J[], threadCount: number): AsyncGenerator<Outcome[J['kind']]> {
  threads ??= openJobThreads({ file: join(__dirname, 'worker.js') }, threadCount);
  return threads.run(jobs);
}
