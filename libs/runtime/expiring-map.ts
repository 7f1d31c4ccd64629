import type { Clock } from '#libs/domain/clock';

/**
 * A map that drops its oldest entries, at each put, when they are too old or too many. One that is kept for longer
 * than others keeps those behind it as well.
 */
export interface ExpiringMap<V> {
  get(key: string): V | undefined;
  has(key: string): boolean;
  /** Makes it the newest entry; kept for the map's time unless given. */
  put(key: string, value: V, keptMs?: number): void;
}

export interface ExpiringMapLimits {
  readonly keptMs: number;
  readonly maxCount: number;
}

export function createExpiringMap<V>(clock: Clock, limits: ExpiringMapLimits): ExpiringMap<V> {
  /** Oldest first, the order in which they expire. */
  const entries = new Map<string, { readonly value: V; readonly expiresAtMs: number }>();
  return {
    get: (key) => entries.get(key)?.value,
    has: (key) => entries.has(key),
    put(key, value, keptMs = limits.keptMs) {
      const nowMs = clock.elapsed();
      entries.delete(key);
      entries.set(key, { value, expiresAtMs: nowMs + keptMs });
      for (const [oldest, { expiresAtMs }] of entries) {
        if (expiresAtMs > nowMs && entries.size <= limits.maxCount) return;
        entries.delete(oldest);
      }
    },
  };
}
