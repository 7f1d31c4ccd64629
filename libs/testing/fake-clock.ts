import type { Clock } from '../domain/clock';

/** A clock that stands still until a test moves it. */
export interface FakeClock extends Clock {
  /**
   * Moves time on. Timers that come due run in order, each at its own time; before each, and at the end, whatever waits
   * for promises gets its turn, so that timers set on the way run, too.
   */
  advance(durationMs: number): Promise<void>;
  /** Timers that wait. */
  readonly pending: number;
}

interface Timer {
  readonly atMs: number;
  readonly order: number;
  readonly action: () => void;
}

/** A FakeClock that starts at `startMs` since the epoch. */
export function fakeClock(startMs = 1_700_000_000_000): FakeClock {
  const timers = new Set<Timer>();
  let nowMs = startMs;
  let order = 0;
  return {
    now: () => nowMs,
    after(delayMs, action) {
      const timer = { atMs: nowMs + Math.max(0, delayMs), order: order++, action };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    async advance(durationMs) {
      const untilMs = nowMs + durationMs;
      for (;;) {
        await settle();
        const next = earliest(timers);
        if (next === undefined || next.atMs > untilMs) break;
        timers.delete(next);
        nowMs = Math.max(nowMs, next.atMs);
        next.action();
      }
      nowMs = untilMs;
    },
    get pending() {
      return timers.size;
    },
  };
}

function earliest(timers: Iterable<Timer>): Timer | undefined {
  let first: Timer | undefined;
  for (const timer of timers) {
    if (!first || timer.atMs < first.atMs || (timer.atMs === first.atMs && timer.order < first.order)) first = timer;
  }
  return first;
}

/** Two turns of the event loop: the first for promises and immediates that wait, the second for what those started. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
}
