import type { Clock } from '#libs/domain/clock';

/**
 * Remembers which instances of a host were destroyed, so that a build that comes after its own destroy (redelivered, or
 * overtaken) is not built.
 */
export interface Tombstones {
  /** Notes that an instance was destroyed, up to an attempt. */
  add(uuid: string, attempt: number): void;
  /** The newest attempt of an instance that was destroyed; 0 when none is remembered. */
  newestAttempt(uuid: string): number;
}

/** Longer than any broker holds back a message that overtook another. */
const KEPT_MS = 600_000;
/** Of one host; the oldest go first. */
const MAX_TOMBSTONES = 10_000;

export function createTombstones(clock: Clock): Tombstones {
  /** Oldest first: in the order in which they expire. */
  const tombstones = new Map<string, { readonly attempt: number; readonly expiresAtMs: number }>();

  const removeExpired = (nowMs: number) => {
    for (const [uuid, { expiresAtMs }] of tombstones) {
      if (expiresAtMs > nowMs && tombstones.size <= MAX_TOMBSTONES) return;
      tombstones.delete(uuid);
    }
  };

  const newestAttempt = (uuid: string) => tombstones.get(uuid)?.attempt ?? 0;

  return {
    add(uuid, attempt) {
      const newest = Math.max(attempt, newestAttempt(uuid));
      const nowMs = clock.elapsed();
      tombstones.delete(uuid);
      tombstones.set(uuid, { attempt: newest, expiresAtMs: nowMs + KEPT_MS });
      removeExpired(nowMs);
    },
    newestAttempt,
  };
}
