import type { Problem } from './session';

/** The data of the page of rehearsals. */
export interface RehearsalsPage {
  /** Newest first. */
  readonly rehearsals: readonly RehearsalRow[];
  /** Rehearsals that may run at once; 0 where none may be started. */
  readonly maxRehearsals: number;
}

/** A rehearsal that this console started. Its report: `GET /api/rehearsals/:id`. */
export interface RehearsalRow {
  readonly id: string;
  readonly userId: string;
  /** The command that does the same: `berth rehearse drain host-7 --seeds=20`. */
  readonly line: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number | undefined;
  /** Rehearsals that are over, of all; 0 of 0 while the fleet is read. */
  readonly done: number;
  readonly all: number;
  readonly state: 'running' | 'done' | 'failed' | 'cancelled';
  /** The reason of a failure. */
  readonly problem: Problem | undefined;
}

/** Limit of the rehearsals of one operation. */
export const MAX_SEEDS = 100;
