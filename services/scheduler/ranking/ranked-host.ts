import type { HostState } from '../fleet/host-state';
import type { HostCandidate } from './candidates';
import type { RefusalCounts } from './refusal-counts';

/** A feasible host, with what it weighs for the request. */
export interface WeighedHost {
  readonly host: HostState;
  readonly weight: number;
}

/** The number of feasible hosts of a snapshot, and why the others are not. */
export interface Feasibility {
  readonly hostCount: number;
  readonly feasibleCount: number;
  readonly refusals: RefusalCounts;
}

/** The same with what an instance would take there. */
export interface RankedHost extends WeighedHost {
  readonly candidate: HostCandidate;
}
