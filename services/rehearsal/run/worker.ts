import { parentPort, workerData } from 'node:worker_threads';
import type { FleetSnapshot } from '../fork/fleet-snapshot';
import { type ForkOptions, forkFleet } from '../fork/fork-fleet';
import type { RehearsalOptions } from './options';
import { rehearseOnce } from './rehearse-once';

/** Data that a thread starts with: all its rehearsals are of one operation on one fleet. */
export interface RehearsalWork {
  readonly snapshot: FleetSnapshot;
  readonly fork: ForkOptions;
  readonly options: RehearsalOptions;
}

const { snapshot, fork, options } = workerData as RehearsalWork;
const fleet = forkFleet(snapshot, fork);

// An exception ends the thread, and the run with it.
parentPort?.on('message', (seed: number) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
  void rehearseOnce(fleet, options, seed).then((outcome) => parentPort?.postMessage(outcome));
});
