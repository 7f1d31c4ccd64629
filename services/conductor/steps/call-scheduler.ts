import { callMethod } from '#libs/bus/typed-calls';
import type { Method } from '#libs/contracts/codec';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { BerthError } from '#libs/domain/errors';
import type { ConductorContext } from '../context';

/**
 * Asks any scheduler.
 *
 * @throws BerthError  what it answers; `unavailable / no_scheduler` before the first one has started: its queue is not there then;
 *   `unavailable / scheduler_outdated` from one of an older version that does not know the call: another may, or it will be upgraded.
 */
export async function callScheduler<Q, A>(
  c: ConductorContext,
  method: Method<Q, A>,
  request: Q,
  timeoutMs = c.config.selectTimeoutMs,
): Promise<A> {
  try {
    const options = { timeoutMs, signal: c.stopping };
    return await callMethod({ bus: c.bus, queue: RPC_SCHEDULER }, method, request, options);
  } catch (thrown) {
    const error = BerthError.from(thrown);
    switch (error.reason) {
      case 'no_such_queue':
        throw new BerthError('unavailable', 'no_scheduler', 'no scheduler runs yet');
      case 'unknown_type':
        throw new BerthError('unavailable', 'scheduler_outdated', `a scheduler is too old for this: ${error.message}`);
      case 'answer_too_large':
        // It is as large the next time.
        throw new BerthError('failed_precondition', error.reason, error.message);
      default:
        throw error;
    }
  }
}
