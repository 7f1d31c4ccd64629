import { createHash } from 'node:crypto';
import type { Clock } from '../domain/clock';

/** Tokens that are not known, from one address, within the time; then further ones wait. */
const MOST_GUESSES = 20;
const WITHIN_MS = 60_000;
/** Addresses, and tokens that were good, that a process remembers; the oldest are forgotten. */
const MAX_KEPT = 10_000;

/** Slows down whoever tries tokens; a token that was good before passes, whoever else guesses from the same address. */
export interface GuessLimit {
  /** How long the address has to wait before its next guess; 0 for not at all. */
  waitMs(address: string, token: string): number;
  /** The token was good. */
  passed(token: string): void;
  /** The token was not known. */
  failed(address: string): void;
}

interface Guesses {
  readonly sinceMs: number;
  readonly count: number;
}

export function guessLimit(clock: Pick<Clock, 'elapsed'>): GuessLimit {
  const guesses = new Map<string, Guesses>();
  const good = new Set<string>();
  const present = (address: string) => {
    const one = guesses.get(address);
    return one !== undefined && clock.elapsed() - one.sinceMs < WITHIN_MS ? one : undefined;
  };
  return {
    waitMs(address, token) {
      const one = present(address);
      if (one === undefined || one.count < MOST_GUESSES || good.has(hashOf(token))) return 0;
      return one.sinceMs + WITHIN_MS - clock.elapsed();
    },
    passed(token) {
      const hash = hashOf(token);
      if (good.has(hash)) return;
      if (good.size >= MAX_KEPT) good.delete(good.keys().next().value as string);
      good.add(hash);
    },
    failed(address) {
      const one = present(address) ?? { sinceMs: clock.elapsed(), count: 0 };
      guesses.delete(address);
      if (guesses.size >= MAX_KEPT) guesses.delete(guesses.keys().next().value as string);
      guesses.set(address, { ...one, count: one.count + 1 });
    },
  };
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}
