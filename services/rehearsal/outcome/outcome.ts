import type { Resources } from '#libs/domain/inventory';
import type { Refused } from '../operations/operation';

/** The outcome of one rehearsal. */
export interface Outcome {
  readonly seed: number;
  /** From the beginning of the operation to its end, or to the last change that it led to. */
  readonly tookMs: number;
  /** False when the limit came first. */
  readonly isOver: boolean;
  /** Instances that are on another host than before. */
  readonly moved: number;
  /** Instances that are ACTIVE and were not there before, or waited for capacity. */
  readonly built: number;
  /** Attempts on hosts that failed, and were repeated on another. */
  readonly retries: number;
  readonly refused: readonly Refused[];
  /** Instances that were preempted. */
  readonly preempted: number;
  /** Instances that wait for capacity at the end and did not before. */
  readonly waiting: number;
  /** Instances that the traffic asked for and that never ran, or still waited at the end. */
  readonly unplaced: number;
  /** Instances that ended in ERROR. */
  readonly failed: number;
  readonly before: FleetUse;
  readonly after: FleetUse;
  /** Invariants that do not hold at the end. */
  readonly broken: readonly string[];
  /** Arrivals of instances on their last host: milliseconds from the beginning, in order. */
  readonly arrivalsMs: readonly number[];
  readonly stepCount: number;
}

/** Hosts that are up and enabled: capacity, use, and the largest free part of one host. */
export interface FleetUse {
  readonly hosts: number;
  readonly capacity: Resources;
  readonly used: Resources;
  readonly largestFree: Resources;
  /** Use of the projects' limits. */
  readonly quotas: readonly QuotaUse[];
}

export interface QuotaUse {
  readonly projectId: string;
  readonly resourceClass: string;
  readonly used: number;
  readonly limit: number;
}
