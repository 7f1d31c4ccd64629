import * as fc from 'fast-check';
import { seededRandom } from '../domain/random';
import { fakeClock } from '../testing/fake-clock';
import { backoffMs, retryWithBackoff } from './backoff';

const LIMITS = { firstMs: 100, maxMs: 2_000 };
const random = seededRandom(1);

function options(signal: AbortSignal = new AbortController().signal) {
  const clock = fakeClock(0);
  const failures: unknown[] = [];
  return { clock, random, signal, failures, ...LIMITS, onFailure: (error: unknown) => failures.push(error) };
}

it('pauses between half and all of what doubles with each failure, up to the limit', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000 }), (failures) => {
      const pauseMs = backoffMs(failures, LIMITS, random);
      const fullMs = Math.min(2_000, 100 * 2 ** (failures - 1));
      expect(pauseMs).toBeGreaterThanOrEqual(fullMs / 2);
      expect(pauseMs).toBeLessThanOrEqual(fullMs);
    }),
  );
});

it('repeats an action until it succeeds, and tells of each failure', async () => {
  const retry = options();
  const action = async (attempt: number) => {
    if (attempt < 3) throw new Error(`no ${attempt}`);
    return attempt;
  };
  const result = retryWithBackoff(action, retry);
  await retry.clock.advance(700);
  expect(await result).toBe(3);
  expect(retry.failures).toEqual([new Error('no 0'), new Error('no 1'), new Error('no 2')]);
});

it('throws at once what no retry can help', async () => {
  const retry = options();
  const failing = retryWithBackoff(() => Promise.reject(new Error('no')), { ...retry, isRetryable: () => false });
  await expect(failing).rejects.toThrow('no');
  expect(retry.failures).toEqual([]);
});

it('throws what failed last when its signal aborts, without waiting for the end of the pause', async () => {
  const stopping = new AbortController();
  const retry = options(stopping.signal);
  let tries = 0;
  const failing = retryWithBackoff(() => Promise.reject(new Error(`no ${++tries}`)), retry);
  await retry.clock.advance(0);
  stopping.abort();
  await expect(failing).rejects.toThrow('no 1');
  expect(retry.clock.pending).toBe(0);
});
