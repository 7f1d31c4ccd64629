import type { RefusedCommit } from '../../port/placement-store';
import type { Stored, Tables } from '../tables';
import type { Guard } from '../transaction';

/** The rows that guards are checked on. */
export interface GuardedRows {
  /** A row is as it was read. */
  isSame(guard: Extract<Guard, { kind: 'row' }>): boolean;
  amount(guard: Extract<Guard, { kind: 'amount' }>): number;
  /** `group`: whose members it counts, if any. */
  count(name: string, group: string): number;
  heardAt(host: string): number | undefined;
}

/** The first guard that does not hold, if any. */
export function failedGuard(guards: readonly Guard[], rows: GuardedRows): Guard | undefined {
  return guards.find((guard) => !holds(guard, rows));
}

function holds(guard: Guard, rows: GuardedRows): boolean {
  switch (guard.kind) {
    case 'row':
      return rows.isSame(guard);
    case 'count':
      return isWithin(rows.count(guard.name, guard.group ?? ''), guard);
    case 'amount':
      return isWithin(rows.amount(guard), guard);
    case 'silent':
      return (rows.heardAt(guard.host) ?? 0) <= guard.silentSinceMs;
  }
}

function isWithin(number: number, { least = -Infinity, most = Infinity }: { least?: number; most?: number }): boolean {
  return number >= least && number <= most;
}

/** Consequence of a failed guard for the command: its refusal, or a conflict that has it decided again. */
export function meaningOf(
  guard: Guard,
  usage: Stored<Tables['usage']> | undefined,
): RefusedCommit | { kind: 'conflict' } {
  const refusal = guard.kind === 'count' || guard.kind === 'amount' ? guard.refusal?.(usage) : undefined;
  return refusal ?? { kind: 'conflict' };
}
