/** Time as a dependency, so that a fleet can run from a seed. */
export interface Clock {
  /**
   * Milliseconds since the epoch, to show and to compare with the times of other processes. It jumps when the clock is
   * set.
   */
  now(): number;
  /** Monotonic milliseconds, for intervals and deadlines within this process. */
  elapsed(): number;
  /** Runs `action` once after `delayMs`; the returned function cancels it. */
  after(delayMs: number, action: () => void): () => void;
}

/** Resolves after `delayMs`, or at once when the signal aborts. Never rejects; the caller checks the signal. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(delayMs, done);
    signal?.addEventListener('abort', done, { once: true });
  });
}

/** A time to the second, as people read it: `2026-11-30T22:00:00Z`. */
export function timeText(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19)}Z`;
}
