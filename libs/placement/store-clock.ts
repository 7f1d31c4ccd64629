import type { Clock } from '../domain/clock';

/**
 * A clock that goes by the store's: what processes stamp and compare with each other's stamps (when an instance is due, when
 * a host was heard of last) agrees among them, however wrong the clock of a machine is. Between two looks at the store's
 * clock it goes by the machine's time that passes; until the first, by the machine's clock.
 */
export interface StoreClock extends Clock {
  /** The store's clock was at `storeNowMs` at some moment since `askedAtMs`, by `elapsed`. */
  set(storeNowMs: number, askedAtMs: number): void;
}

/** @param clock  the machine's */
export function storeClock(clock: Clock): StoreClock {
  let aheadMs: number | undefined;
  return {
    now: () => (aheadMs === undefined ? clock.now() : Math.round(clock.elapsed() + aheadMs)),
    elapsed: () => clock.elapsed(),
    after: (delayMs, action) => clock.after(delayMs, action),
    set(storeNowMs, askedAtMs) {
      aheadMs = storeNowMs - (askedAtMs + clock.elapsed()) / 2;
    },
  };
}
