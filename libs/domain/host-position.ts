/**
 * The time of an agent's statement about its host, as an epoch and a position. An observation that is not after the one
 * in a record proves nothing. Agents that hold no epoch send 0.
 */
export interface HostPosition {
  /**
   * Given by the placement store; rises with each holder of the host, so that statements of an earlier holder are
   * recognised.
   */
  readonly epoch: number;
  /** Counts all statements of the agent about the host. */
  readonly position: number;
}

/** A report that lacks the instance. The next report of the same epoch settles the doubt. */
export interface MissedReport {
  readonly epoch: number;
  readonly sequence: number;
}

/** True when `one` is later than `other`; anything is later than nothing. */
export function isAfter(one: HostPosition, other: HostPosition | undefined): boolean {
  if (other === undefined) return true;
  return one.epoch === other.epoch ? one.position > other.position : one.epoch > other.epoch;
}
