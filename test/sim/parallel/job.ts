import type { Caught } from '../run-mutants';
import type { RunOptions, Violation } from '../world/run';

/** To run one seed. */
export interface SeedJob {
  readonly kind: 'seed';
  readonly options: RunOptions;
  readonly mutant: string | undefined;
  /** Whether its digest is wanted, which takes a while. */
  readonly isDigested: boolean;
}

/** To run seeds until one catches a mutant. */
export interface HuntJob {
  readonly kind: 'hunt';
  readonly mutant: string;
  readonly actionCount: number;
}

/** What a thread is asked to do. */
export type Job = SeedJob | HuntJob;

/** What came of a seed. */
export interface SeedOutcome {
  readonly options: RunOptions;
  readonly violation: Violation | undefined;
  readonly stepCount: number;
  /** Of its history. */
  readonly digest: string | undefined;
}

/** What comes of each kind of job. */
export interface Outcome {
  readonly seed: SeedOutcome;
  readonly hunt: Caught;
}
