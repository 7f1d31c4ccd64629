import { INSTANCES } from '../quotas/quota';
import type { AlternatesHeld } from './place-lease';

/** The rules of a request for waiting, preemption and lifetime. */
export interface Admission {
  /** Higher comes first; within {@link MAX_PRIORITY} of 0. */
  readonly priority: number;
  /** Time limit of PENDING while capacity lacks; 0: it ends in ERROR at once. */
  readonly waitForCapacityMs: number;
  /** Time limit from the first ACTIVE until it is terminated; 0 for none. */
  readonly timeLimitMs: number;
  /** True when it may preempt instances of a lower priority while it waits. */
  readonly mayPreempt: boolean;
  /** True when it is never preempted, whatever the priority. */
  readonly isProtected: boolean;
  /** True when it waits again after preemption; else it is terminated. */
  readonly isRequeued: boolean;
  /** The hold on its alternates during the build; undefined for none. */
  readonly alternatesHeld?: AlternatesHeld | undefined;
  /** True when a host is asked before it is selected. */
  readonly confirmsHost?: boolean | undefined;
}

/** The defaults of a request. */
export const NO_ADMISSION: Admission = {
  priority: 0,
  waitForCapacityMs: 0,
  timeLimitMs: 0,
  mayPreempt: false,
  isProtected: false,
  isRequeued: false,
};

export const MAX_PRIORITY = 1_000;
/** One week. */
export const MAX_WAIT_MS = 604_800_000;
/** One year. */
export const MAX_TIME_LIMIT_MS = 31_536_000_000;
/** A quota limit on the priority of a project's requests. It is no amount and is never summed up. */
export const PRIORITY_LIMIT = 'priority';
/**
 * A quota limit: the highest priority of a project's instances that a lender may reclaim, whatever the lender's own
 * priority; -1 for all. Without it only lower priorities may be reclaimed.
 */
export const RECLAIM_LIMIT = 'reclaim';
/** A quota limit that is the weight of a project among those who wait, from 1 to {@link MAX_WEIGHT}; 1 without it. No amount. */
export const WEIGHT_LIMIT = 'weight';
export const MAX_WEIGHT = 1_000_000;
/** Things that a limit may be on besides resource classes. */
export const OTHER_LIMITS: readonly string[] = [INSTANCES, PRIORITY_LIMIT, RECLAIM_LIMIT, WEIGHT_LIMIT];

/** The wait of a `pending` instance: its start, its end and its causes. */
export interface Waiting {
  readonly sinceMs: number;
  readonly untilMs: number;
  /** Reasons that refused all hosts in the last try, as in a diagnosis (`capacity_vcpu`). */
  readonly waitsFor: readonly string[];
  /** The planned preemption; its victims are terminated on this record alone. */
  readonly preemption?: Preemption | undefined;
}

/** Instances whose removal makes room: of a lower priority, or using borrowed quota. */
export interface Preemption {
  readonly host: string;
  /** The other hosts, for a request of several instances. */
  readonly furtherHosts?: readonly string[];
  /** True when their project borrowed from the preemptor's project, which reclaims its quota. */
  readonly reclaims?: boolean;
  /** Uuids, lowest priority first; they end in this order. */
  readonly victims: readonly string[];
}

/** Limit of the instances that one preemption ends. */
export const MAX_VICTIMS = 8;
