import { parentPort } from 'node:worker_threads';
import { explore } from '#libs/simulation/explore';
import { mutantOf } from '../mutants/registry';
import { catchMutant } from '../run-mutants';
import { OneInstance } from '../small-scope/one-instance';
import { runSeed } from '../world/worlds';
import type { HuntJob, Job, Outcome, ScopeJob, SeedJob } from './job';

const perform: { readonly [K in Job['kind']]: (job: never) => Promise<Outcome[K]> } = {
  seed: async ({ options, mutant, isDigested }: SeedJob) => {
    const putBack = mutant === undefined ? () => {} : mutantOf(mutant).apply();
    const { violation, stepCount, history } = await runSeed(options);
    putBack();
    return { options, violation, stepCount, digest: isDigested ? history.digest() : undefined };
  },
  hunt: ({ mutant, actionCount, isByTrace }: HuntJob) => catchMutant(mutantOf(mutant), actionCount, isByTrace),
  scope: async ({ fault, bound }: ScopeJob) => {
    const startedMs = performance.now();
    const explored = await explore(() => OneInstance.begin(fault, bound));
    return { ...explored, seconds: (performance.now() - startedMs) / 1_000 };
  },
};

// An exception ends the thread, and the run with it.
parentPort?.on('message', (job: Job) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
  void perform[job.kind](job as never).then((outcome) => parentPort?.postMessage(outcome));
});
