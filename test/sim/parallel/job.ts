import type { Caught } from '../run-mutants';
import type { RunOptions, Violation } from '../world/run';

/** Runs one seed. */
export interface SeedJob {
  readonly kind: 'seed';
  readonly options: RunOptions;
  readonly mutant: string | undefined;
  /** Asks for the digest, which takes a while. */
  readonly isDigested: boolean;
}

/** Runs seeds until one catches a mutant. */
export interface HuntJob {
  readonly kind: 'hunt';
  /** True if only the model of the protocol counts. */
  readonly isByTrace: boolean;
  readonly mutant: string;
  readonly actionCount: number;
}

/** A job of a thread. */
export type Job = SeedJob | HuntJob;

/** The outcome of a seed. */
export interface SeedOutcome {
  readonly options: RunOptions;
  readonly violation: Violation | undefined;
  readonly stepCount: number;
  /** Digest of its history. */
  readonly digest: string | undefined;
}

/** The outcome of each kind of job. */
export interface Outcome {
  readonly seed: SeedOutcome;
  readonly hunt: Caught;
}
