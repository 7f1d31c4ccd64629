import type { Resources } from '#libs/domain/inventory';
import type { Refused } from '../operations/operation';

/** What came of one rehearsal. */
export interface Outcome {
  readonly seed: number;
  /** From the beginning of the operation to its end, or to the last change that it led to. */
  readonly tookMs: number;
  /** False when the limit came first. */
  readonly isOver: boolean;
  /** Instances that are on another host than before. */
  readonly moved: number;
  /** Instances that are ACTIVE and were not there before. */
  readonly built: number;
  /** Attempts on hosts that failed, and were repeated on another. */
  readonly retries: number;
  readonly refused: readonly Refused[];
  /** Instances that gave way to others. */
  readonly preempted: number;
  /** Instances that wait for capacity at the end and did not before. */
  readonly waiting: number;
  /** Instances that the traffic asked for and that did not come to run, or waited at the end. */
  readonly unplaced: number;
  /** Instances that ended in ERROR. */
  readonly failed: number;
  readonly before: FleetUse;
  readonly after: FleetUse;
  /** Invariants that do not hold at the end. */
  readonly broken: readonly string[];
  /** When instances came to where they are: milliseconds from the beginning, in order. */
  readonly arrivalsMs: readonly number[];
  readonly stepCount: number;
}

/** Hosts that are up and enabled, with what they have and what is used of it, and the largest part that is free on one. */
export interface FleetUse {
  readonly hosts: number;
  readonly capacity: Resources;
  readonly used: Resources;
  readonly largestFree: Resources;
  /** What projects hold of their limits. */
  readonly quotas: readonly QuotaUse[];
}

export interface QuotaUse {
  readonly projectId: string;
  readonly resourceClass: string;
  readonly used: number;
  readonly limit: number;
}
