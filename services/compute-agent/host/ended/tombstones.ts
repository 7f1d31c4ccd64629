import type { Clock } from '#libs/domain/clock';
import { createExpiringMap } from '#libs/runtime/expiring-map';

/**
 * Remembers a host's destroyed instances, so that a build which comes after its own destroy (redelivered, or overtaken)
 * is not built.
 */
export interface Tombstones {
  /** Records that an instance was destroyed, up to an attempt and a claim. */
  add(uuid: string, upTo: Built): void;
  /** True when an instance was destroyed at this attempt and claim, or at later ones. */
  covers(uuid: string, built: Built): boolean;
  has(uuid: string): boolean;
}

/**
 * The build of an instance on one host. Claim tokens always rise, so that a reused uuid is distinguished from its
 * predecessor.
 */
export interface Built {
  readonly attempt: number;
  readonly claimToken: number;
}

/** Exceeds any broker's delay of an overtaken message. */
export const TOMBSTONE_KEPT_MS = 600_000;
/** Limit per host; the oldest are dropped. */
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
