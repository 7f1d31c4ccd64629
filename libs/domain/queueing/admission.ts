import type { AlternatesHeld } from './place-lease';

/** How the instances of a request wait for capacity, whom they give way to, and how long they live. */
export interface Admission {
  /** The higher comes first; within {@link MAX_PRIORITY} of 0. */
  readonly priority: number;
  /** How long it waits, PENDING, for capacity that is not there; 0: it does not, and ends in ERROR. */
  readonly waitForCapacityMs: number;
  /** How long after it is ACTIVE for the first time it is terminated; 0 for never. */
  readonly timeLimitMs: number;
  /** While it waits it may take the place of instances of a lower priority. */
  readonly mayPreempt: boolean;
  /** Nobody takes its place, whatever the priority. */
  readonly isProtected: boolean;
  /** When somebody takes its place it waits again, instead of being terminated. */
  readonly isRequeued: boolean;
  /** What holds its alternates while it is built; nothing when not given. */
  readonly alternatesHeld?: AlternatesHeld | undefined;
}

/** A request that says nothing of it. */
export const NO_ADMISSION: Admission = {
  priority: 0,
  waitForCapacityMs: 0,
  timeLimitMs: 0,
  mayPreempt: false,
  isProtected: false,
  isRequeued: false,
};

export const MAX_PRIORITY = 1_000;
/** A week. */
export const MAX_WAIT_MS = 604_800_000;
/** A year. */
export const MAX_TIME_LIMIT_MS = 31_536_000_000;
/** The limit of a quota on the priority that a project's requests may have. Not on an amount: nothing is summed up. */
export const PRIORITY_LIMIT = 'priority';
/**
 * Likewise, the priority up to which a project's instances may be taken back by whom it has borrowed from, whatever the
 * lender's priority; -1 for all. Without it only those of lower priorities may.
 */
export const RECLAIM_LIMIT = 'reclaim';

/** That an instance waits for capacity: since when, until when, and for what. */
export interface Waiting {
  readonly sinceMs: number;
  readonly untilMs: number;
  /** What refused all hosts when it was tried last: symbols of reasons, as in a diagnosis (`capacity_vcpu`). */
  readonly waitsFor: readonly string[];
  /** Whose place it is about to take; they are terminated by this word alone. */
  readonly preemption?: Preemption | undefined;
}

/** Instances in whose place others fit: of a lower priority, or holding what their project has borrowed. */
export interface Preemption {
  readonly host: string;
  /** Where the request has several instances: the other hosts. */
  readonly furtherHosts?: readonly string[];
  /** The project that they are to make room for takes back what it has lent. */
  readonly reclaims?: boolean;
  /** Uuids, lowest priority first: in this order they end. */
  readonly victims: readonly string[];
}

/** Instances that one preemption ends at most. */
export const MAX_VICTIMS = 8;
