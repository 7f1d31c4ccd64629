import { type Clock, sleep } from '../domain/clock';
import type { Random } from '../domain/random';

/** Limits of the pauses between tries. */
export interface BackoffLimits {
  /** Upper bound of the first pause. */
  readonly firstMs: number;
  /** Upper bound of every pause. */
  readonly maxMs: number;
}

export interface RetryOptions extends BackoffLimits {
  readonly clock: Clock;
  readonly random: Random;
  /** Ends the retries: the last error is thrown then. */
  readonly signal: AbortSignal;
  /** True when a later try may succeed; default: for all errors. Other errors are thrown. */
  readonly isRetryable?: (error: unknown) => boolean;
  /** Called for each failure that is retried after `pauseMs`. */
  readonly onFailure: (error: unknown, pauseMs: number) => void;
}

/**
 * The pause after the n-th consecutive failure, `failures` from 1: doubles up to the limit, with half of it random, so
 * that processes that failed together do not come back together (exponential backoff with equal jitter; Brooker,
 * "Exponential Backoff And Jitter").
 */
export function backoffMs(failures: number, { firstMs, maxMs }: BackoffLimits, random: Random): number {
  const ms = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 30));
  return Math.round((ms * (1 + random.next())) / 2);
}

/**
 * Repeats an action until it succeeds, with backoff. `attempt` counts from 0. (p-retry does the same with the machine's
 * clock and randomness; the simulation needs its own.)
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
