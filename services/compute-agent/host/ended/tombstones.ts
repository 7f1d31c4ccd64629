import type { Clock } from '#libs/domain/clock';
import { createExpiringMap } from '#libs/runtime/expiring-map';
import type { KeptMs } from './kept-ms';

/**
 * Remembers a host's destroyed instances, so that a build which comes after its own destroy (redelivered, or overtaken)
 * is not built.
 */
export interface Tombstones {
  /** Records that an instance was destroyed, up to an attempt and a claim; its build's deadline is in store time. */
  add(uuid: string, upTo: Built, deadlineAtMs?: number): void;
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

/** Limit per host; the oldest are dropped. */
const MAX_TOMBSTONES = 10_000;

export function createTombstones(clock: Clock, keptMs: KeptMs): Tombstones {
  const tombstones = createExpiringMap<Built>(clock, { keptMs: keptMs(), maxCount: MAX_TOMBSTONES });
  return {
    add(uuid, upTo, deadlineAtMs) {
      tombstones.put(uuid, laterOf(upTo, tombstones.get(uuid)), keptMs(deadlineAtMs));
    },
    covers(uuid, built) {
      const tombstone = tombstones.get(uuid);
      return tombstone !== undefined && isCovered(built, tombstone);
    },
    has: (uuid) => tombstones.has(uuid),
  };
}

/** The later attempt and the later claim of two. */
export function laterOf({ attempt, claimToken }: Built, before?: Built): Built {
  return {
    attempt: Math.max(attempt, before?.attempt ?? 0),
    claimToken: Math.max(claimToken, before?.claimToken ?? 0),
  };
}

/** True when a build is of that attempt and claim, or of earlier ones. */
export function isCovered({ attempt, claimToken }: Built, upTo: Built): boolean {
  return attempt <= upTo.attempt && claimToken <= upTo.claimToken;
}
