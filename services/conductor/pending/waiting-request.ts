import type { FairWaiter } from '#libs/domain/queueing/fair-share';

/** A request some of whose instances wait. They are placed together, all or none. */
export interface WaitingRequest extends FairWaiter {
  /** Requests of one shape fit, or do not, alike. */
  readonly shape: string;
  readonly requestSpec: Uint8Array;
  /** Its instances that wait. */
  readonly uuids: readonly string[];
  /** True if a preemption is under way for it. */
  readonly preempts: boolean;
  /** True if its records say what it waits for. */
  readonly isTold: boolean;
}
