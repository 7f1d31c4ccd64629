import type { Explored } from '#libs/simulation/explore';
import type { Caught } from '../run-mutants';
import type { Bound, Fault } from '../small-scope/one-instance';
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

/** Goes through every state of one instance with a fault. */
export interface ScopeJob {
  readonly kind: 'scope';
  readonly fault: Fault;
  readonly bound: Bound;
}

/** A job of a thread. */
export type Job = SeedJob | HuntJob | ScopeJob;

/** The outcome of a seed. */
export interface SeedOutcome {
  readonly options: RunOptions;
  readonly violation: Violation | undefined;
  readonly stepCount: number;
  /** Digest of its history. */
  readonly digest: string | undefined;
}

/** A search through all states with one fault, and its duration. */
export interface Search extends Explored {
  readonly seconds: number;
}

/** The outcome of each kind of job. */
export interface Outcome {
  readonly seed: SeedOutcome;
  readonly hunt: Caught;
  readonly scope: Search;
}
