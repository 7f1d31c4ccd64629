import type { Clock } from '#libs/domain/clock';
import { createExpiringMap } from './expiring-map';

/**
 * Remembers which instances of a host were destroyed, so that a build that comes after its own destroy (redelivered, or
 * overtaken) is not built.
 */
export interface Tombstones {
  /** Notes that an instance was destroyed, up to an attempt and a claim. */
  add(uuid: string, upTo: Built): void;
  /** Whether what was destroyed was built by this attempt and claim, or by later ones. */
  covers(uuid: string, built: Built): boolean;
  has(uuid: string): boolean;
}

/**
 * By what an instance is built, on one host. Claim tokens rise without end, so that a uuid which is used again after its
 * instance was forgotten is told apart from the one before.
 */
export interface Built {
  readonly attempt: number;
  readonly claimToken: number;
}

/** Longer than any broker holds back a message that overtook another. */
export const TOMBSTONE_KEPT_MS = 600_000;
/** Of one host; the oldest go first. */
const MAX_TOMBSTONES = 10_000;

export function createTombstones(clock: Clock): Tombstones {
  const tombstones = createExpiringMap<Built>(clock, { keptMs: TOMBSTONE_KEPT_MS, maxCount: MAX_TOMBSTONES });
  return {
    add(uuid, { attempt, claimToken }) {
      const before = tombstones.get(uuid);
      tombstones.put(uuid, {
        attempt: Math.max(attempt, before?.attempt ?? 0),
        claimToken: Math.max(claimToken, before?.claimToken ?? 0),
      });
    },
    covers(uuid, { attempt, claimToken }) {
      const tombstone = tombstones.get(uuid);
      return tombstone !== undefined && attempt <= tombstone.attempt && claimToken <= tombstone.claimToken;
    },
    has: (uuid) => tombstones.has(uuid),
  };
}
