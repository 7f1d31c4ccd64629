import type { Action } from './stream';

/** Ranges of the figures of builds. */
export const BUILD_RANGES = ['10m', '1h', '6h', '24h'] as const;
export type BuildRange = (typeof BUILD_RANGES)[number];

/** The data of the builds page. */
export interface BuildsPage {
  readonly rates: BuildRates;
  /** Instances that are in ERROR now, by the store; -1 while it does not answer. */
  readonly inError: number;
  readonly recent: readonly RecentBuild[];
  /** `first` is undefined while no conductor answers. */
  readonly pending: { readonly count: number; readonly first: readonly PendingBuild[] | undefined };
  /** Messages in the dead letter queue; -1 when unknown. */
  readonly deadLetters: number;
  readonly actions: readonly Action[];
}

/** Counts from `firstMs` on, each over `stepMs`. */
export interface BuildRates {
  readonly range: BuildRange;
  readonly stepMs: number;
  readonly firstMs: number;
  readonly requested: readonly number[];
  readonly active: readonly number[];
  readonly error: readonly number[];
  /** Ended on another host than the first. */
  readonly retried: readonly number[];
  readonly timeToActive: {
    readonly count: number;
    readonly p50Ms: number;
    readonly p90Ms: number;
    readonly p99Ms: number;
  };
  /** Reasons of instances that ended in ERROR, and of failed attempts. */
  readonly faults: readonly Tally[];
  readonly failedAttempts: readonly Tally[];
}

export interface Tally {
  readonly name: string;
  readonly count: number;
}

/** A build that has ended. */
export interface RecentBuild {
  readonly uuid: string;
  readonly name: string;
  readonly state: string;
  readonly host: string;
  readonly projectId: string;
  readonly atMs: number;
  readonly tookMs: number;
  readonly attempts: number;
  readonly reason: string;
}

/** An attempt, for the page of its host. */
export interface TriedAttempt {
  readonly uuid: string;
  readonly name: string;
  readonly number: number;
  readonly outcome: string;
  readonly reason: string;
  readonly atMs: number;
}

/** The number of a waiting request, the lowest first, and its parts: shares of the fleet. */
export interface StandingRow {
  readonly number: number;
  readonly now: number;
  readonly lately: number;
  readonly weight: number;
  readonly ahead: number;
  readonly patience: number;
}

/** An instance that waits for capacity. */
export interface PendingBuild {
  readonly uuid: string;
  readonly name: string;
  readonly projectId: string;
  readonly place: number;
  readonly priority: number;
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly waitsFor: readonly string[];
  /** Undefined where projects take turns. */
  readonly standing: StandingRow | undefined;
  /** The query of the page that explains its request. */
  readonly explain: string;
  readonly resources: Readonly<Record<string, number>>;
}

/** A message that could not be handled. */
export interface DeadLetterRow {
  readonly id: string;
  readonly type: string;
  readonly sender: string;
  readonly queue: string;
  readonly reason: string;
  readonly message: string;
  readonly bytes: number;
}
