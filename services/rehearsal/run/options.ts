import type { Operation } from '../operations/operation';
import type { Traffic } from '../operations/traffic';

/** How an operation is rehearsed. */
export interface RehearsalOptions {
  readonly operation: Operation;
  /** What is killed meanwhile, again and again. */
  readonly kills: readonly KillKind[];
  /** Played meanwhile. */
  readonly traffic?: Traffic | undefined;
  /** The longest virtual time. */
  readonly limitMs: number;
}

export const KILL_KINDS = ['scheduler', 'conductor', 'agent', 'broker', 'store'] as const;
export type KillKind = (typeof KILL_KINDS)[number];
