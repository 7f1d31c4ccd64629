import { parentPort } from 'node:worker_threads';
import { mutantOf } from '../mutants/registry';
import { catchMutant } from '../run-mutants';
import { runSeed } from '../world/worlds';
import type { HuntJob, Job, Outcome, SeedJob } from './job';

const perform: { readonly [K in Job['kind']]: (job: never) => Promise<Outcome[K]> } = {
  seed: async ({ options, mutant, isDigested }: SeedJob) => {
    const putBack = mutant === undefined ? () => {} : mutantOf(mutant).apply();
    const { violation, stepCount, history } = await runSeed(options);
    putBack();
    return { options, violation, stepCount, digest: isDigested ? history.digest() : undefined };
  },
  hunt: ({ mutant, actionCount, isByTrace }: HuntJob) => catchMutant(mutantOf(mutant), actionCount, isByTrace),
};

// An exception ends the thread, and the run with it.
parentPort?.on('message', (job: Job) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
  void perform[job.kind](job as never).then((outcome) => parentPort?.postMessage(outcome));
});
