import { randomUUID } from 'node:crypto';
import type { Clock } from '../domain/clock';
import type { Random } from '../domain/random';

/* The one home of the machine's time, randomness and environment. Everything else takes them as arguments. */

/** setTimeout fires at once for longer delays. */
const LONGEST_TIMER_MS = 2_147_483_647;

export function systemClock(): Clock {
  return {
    // oxlint-disable-next-line no-restricted-properties -- its one home
    now: () => Date.now(),
    elapsed: () => performance.now(),
    after(delayMs, action) {
      const timer = setTimeout(action, Math.min(Math.max(0, delayMs), LONGEST_TIMER_MS));
      return () => clearTimeout(timer);
    },
  };
}

export const systemRandom: Random = {
  // oxlint-disable-next-line no-restricted-properties -- its one home
  next: () => Math.random(),
  uuid: () => randomUUID(),
};

/** The settings of the process by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

export function environment(): Environment {
  // oxlint-disable-next-line no-restricted-properties -- its one home
  return process.env;
}
