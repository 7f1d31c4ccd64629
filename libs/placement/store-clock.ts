import type { Clock } from '../domain/clock';

/**
 * A clock that goes by the store's: what processes stamp and compare with each other's stamps (when an instance is due, when
 * a host was heard of last) agrees among them, however wrong the clock of a machine is. Between two looks at the store's
 * clock it goes by the machine's time that passes; until the first, by the machine's clock.
 */
export interface StoreClock extends Clock {
  /**
   * The store's clock was at `storeNowMs` at some moment since `askedAtMs`, by `elapsed`: halfway, as a rule. An answer that
   * was long under way, or met a process that stood still, only says between what the store's clock is.
   */
  set(storeNowMs: number, askedAtMs: number): void;
}

/** An answer that took longer says little more than its bounds. */
const LONG_MS = 1_000;

/** @param clock  the machine's */
export function storeClock(clock: Clock): StoreClock {
  let aheadMs: number | undefined;
  return {
    now: () => (aheadMs === undefined ? clock.now() : Math.round(clock.elapsed() + aheadMs)),
    elapsed: () => clock.elapsed(),
    after: (delayMs, action) => clock.after(delayMs, action),
    set(storeNowMs, askedAtMs) {
      const most = storeNowMs - askedAtMs;
      const least = storeNowMs - clock.elapsed();
      const expected = most - least > LONG_MS ? aheadMs : undefined;
      aheadMs = Math.min(most, Math.max(least, expected ?? (least + most) / 2));
    },
  };
}
