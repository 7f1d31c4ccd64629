import { BerthError } from '../../domain/errors';

/**
 * The first revision and the first claim token of a store: the clock's microseconds, beyond all that were given before the
 * store was wiped, unless it made more than a million commits a second throughout.
 */
export function firstNumber(atMs: number): number {
  return Math.max(1, Math.floor(atMs * 1_000));
}

/** The change stream does not reach back to a revision: the follower needs a new snapshot. */
export function revisionTrimmed(revision: number): BerthError {
  return new BerthError('failed_precondition', 'revision_trimmed', `changes after revision ${revision} are gone`);
}
