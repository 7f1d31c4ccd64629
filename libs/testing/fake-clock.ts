import type { Clock } from '../domain/clock';

/** A clock that stands still until a test moves it. */
export interface FakeClock extends Clock {
  /**
   * Advances time. Due timers run in order, each at its own time; before each, and at the end, pending promises run, so
   * that timers set meanwhile run too.
   */
  advance(durationMs: number): Promise<void>;
  /** Sets the wall clock forward, or back; no time passes. */
  jump(byMs: number): void;
  /** Number of pending timers. */
  readonly pending: number;
}

interface Timer {
  readonly atMs: number;
  readonly order: number;
  readonly action: () => void;
}

/** Uptime of the machine at the start: `elapsed` is never 0, which may mean none. */
const UP_MS = 3_600_000;

/** A FakeClock that starts at `startMs` since the epoch. */
export function fakeClock(startMs = 1_700_000_000_000): FakeClock {
  const timers = new Set<Timer>();
  let nowMs = startMs;
  /** Lead of the wall clock. */
  let aheadMs = 0;
  let order = 0;
  return {
    now: () => nowMs + aheadMs,
    elapsed: () => nowMs - startMs + UP_MS,
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
    jump(byMs) {
      aheadMs += byMs;
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

/** Two turns of the event loop: the first for pending promises and immediates, the second for those that they start. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
}
