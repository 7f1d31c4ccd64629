import { type Clock, sleep } from '#libs/domain/clock';

/**
 * Repeats an action until it succeeds, with pauses that grow from 100 ms to `maxMs`. Gives up only by the signal:
 * answers whether it succeeded.
 */
export async function untilDone(
  action: () => Promise<unknown>,
  options: {
    readonly clock: Clock;
    readonly maxMs: number;
    readonly signal: AbortSignal;
    readonly onFailure: (error: unknown) => void;
  },
): Promise<boolean> {
  for (let failures = 0; ; failures++) {
    try {
      await action();
      return true;
    } catch (error) {
      options.onFailure(error);
    }
    if (!options.signal.aborted) {
      await sleep(options.clock, Math.min(options.maxMs, 100 * 2 ** Math.min(failures, 16)), options.signal);
    }
    if (options.signal.aborted) return false;
  }
}
