import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { fetchJson, type JsonAnswer, type JsonRequest } from '#libs/runtime/fetch-json';

export interface Patience {
  /** Time limit of the answer. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Aborts calls in flight (Ctrl-C). */
  readonly interrupted: AbortSignal;
}

/**
 * `fetchJson` with a time limit, heard by Ctrl-C.
 *
 * @param unreachable  the error without an answer, after its cause or when it is late
 * @throws BerthError `aborted / interrupted`, and `unreachable`
 */
export async function fetchWithin(
  url: string,
  request: Omit<JsonRequest, 'signal'>,
  { timeoutMs, clock, interrupted }: Patience,
  unreachable: (thrown: unknown, isLate: boolean) => BerthError,
): Promise<JsonAnswer> {
  const late = new AbortController();
  const cancel = clock.after(timeoutMs, () => late.abort());
  try {
    return await fetchJson(url, { ...request, signal: AbortSignal.any([late.signal, interrupted]) });
  } catch (thrown) {
    if (interrupted.aborted) throw new BerthError('aborted', 'interrupted', 'interrupted');
    throw unreachable(thrown, late.signal.aborted);
  } finally {
    cancel();
  }
}
