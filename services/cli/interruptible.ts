import { once } from 'node:events';
import { BerthError } from '#libs/domain/errors';
import type { Context } from './context';

/**
 * The result of `work`, unless Ctrl-C comes first: that is answered at once, and the end of the process ends the work.
 *
 * @throws BerthError `aborted / interrupted`.
 */
export async function untilInterrupted<T>({ interrupted }: Pick<Context, 'interrupted'>, work: Promise<T>): Promise<T> {
  const finished = new AbortController();
  const stopped = async () => {
    if (!interrupted.aborted) await once(interrupted, 'abort', { signal: finished.signal });
    throw new BerthError('aborted', 'interrupted', 'interrupted');
  };
  try {
    return await Promise.race([work, stopped()]);
  } finally {
    finished.abort();
  }
}
