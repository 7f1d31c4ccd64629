import { BerthError } from '../../domain/errors';

/** The first revision of a store: the clock's, so that followers of a store that was wiped don't fit the new one. */
export function firstRevision(atMs: number): number {
  return Math.max(1, Math.floor(atMs));
}

/**
 * The first claim token of a store: the clock's microseconds. Tokens of a store that was wiped are all lower, unless it
 * made more than a million commits a second throughout.
 */
export function firstClaimToken(atMs: number): number {
  return firstRevision(atMs) * 1_000;
}

/** The change stream does not reach back to a revision: the follower needs a new snapshot. */
export function revisionTrimmed(revision: number): BerthError {
  return new BerthError('failed_precondition', 'revision_trimmed', `changes after revision ${revision} are gone`);
}
