import { type Clock, sleep } from '../domain/clock';
import type { Random } from '../domain/random';

/** How pauses between tries grow. */
export interface BackoffLimits {
  /** The first pause at most. */
  readonly firstMs: number;
  /** Every pause at most. */
  readonly maxMs: number;
}

export interface RetryOptions extends BackoffLimits {
  readonly clock: Clock;
  readonly random: Random;
  /** Ends the pauses: what failed last is thrown then. */
  readonly signal: AbortSignal;
  /** Whether a later try may succeed; all errors when not given. What may not is thrown. */
  readonly isRetryable?: (error: unknown) => boolean;
  /** Hears of each failure that is tried again after `pauseMs`. */
  readonly onFailure: (error: unknown, pauseMs: number) => void;
}

/**
 * The pause after the n-th failure in a row, `failures` from 1: doubles up to the limit, and lies anywhere between half
 * and all of that, so that processes that failed together do not come back together (exponential backoff with equal
 * jitter; Brooker, "Exponential Backoff And Jitter").
 */
export function backoffMs(failures: number, { firstMs, maxMs }: BackoffLimits, random: Random): number {
  const ms = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 30));
  return Math.round((ms * (1 + random.next())) / 2);
}

/**
 * Repeats an action until it succeeds, with backoff. `attempt` counts from 0. (As p-retry does, which knows no clock and no chance
 * but the machine's: the simulation has its own.)
 */
export async function retryWithBackoff<T>(action: (attempt: number) => Promise<T>, options: RetryOptions): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await action(attempt);
    } catch (error) {
      const { clock, random, signal, isRetryable = () => true, onFailure } = options;
      if (signal.aborted || !isRetryable(error)) throw error;
      const pauseMs = backoffMs(attempt + 1, options, random);
      onFailure(error, pauseMs);
      await sleep(clock, pauseMs, signal);
      if (signal.aborted) throw error;
    }
  }
}
