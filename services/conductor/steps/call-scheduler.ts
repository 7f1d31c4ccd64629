import { callMethod } from '#libs/bus/typed-calls';
import type { Method } from '#libs/contracts/codec';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { BerthError } from '#libs/domain/errors';
import type { Conductor } from '../context';

/**
 * Asks any scheduler.
 *
 * @throws BerthError  what it answers, and `unavailable / no_scheduler` before the first one has started: its queue is not there then.
 */
export async function callScheduler<Q, A>(c: Conductor, method: Method<Q, A>, request: Q): Promise<A> {
  try {
    const options = { timeoutMs: c.config.selectTimeoutMs, signal: c.stopping };
    return await callMethod(c.bus, RPC_SCHEDULER, method, request, options);
  } catch (thrown) {
    const error = BerthError.from(thrown);
    throw error.reason === 'no_such_queue'
      ? new BerthError('unavailable', 'no_scheduler', 'no scheduler runs yet')
      : error;
  }
}
