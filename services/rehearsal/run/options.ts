import type { Operation } from '../operations/operation';
import type { Traffic } from '../operations/traffic';

/** Options of a rehearsal. */
export interface RehearsalOptions {
  readonly operation: Operation;
  /** Processes and servers that are killed meanwhile, repeatedly. */
  readonly kills: readonly KillKind[];
  /** Tenants' requests that are played meanwhile. */
  readonly traffic?: Traffic | undefined;
  /** The longest virtual time. */
  readonly limitMs: number;
}

export const KILL_KINDS = ['scheduler', 'conductor', 'agent', 'broker', 'store'] as const;
export type KillKind = (typeof KILL_KINDS)[number];
