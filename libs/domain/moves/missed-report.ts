/** A report that lacks the instance. The next report of the same epoch settles the doubt. */
export interface MissedReport {
  readonly epoch: number;
  readonly sequence: number;
}
