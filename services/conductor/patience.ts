import { ACK, drop, type IncomingMessage, REQUEUE, type Settlement } from '#libs/bus/port';
import { sleep } from '#libs/domain/clock';
import { BerthError, isRetryable } from '#libs/domain/errors';
import type { Conductor } from './context';

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 5_000;

/**
 * Does a step to its end, however long the store, the broker or the schedulers are away.
 *
 * The naive way is to requeue the message when something is away. It fails because a queue counts deliveries: an outage
 * of a minute would send good builds to the dead letters. So the message stays in hand, unacknowledged, and the whole
 * step is done again after a wait that doubles, with jitter, so that conductors do not come back all at once. It costs
 * that every step must be harmless when repeated from its start, which redelivery asks for anyway. `attempt` counts from 0.
 */
export async function untilDone<T>(c: Conductor, step: (attempt: number) => Promise<T>): Promise<T> {
  for (let attempt = 0, waitMs = FIRST_WAIT_MS; ; attempt++, waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
    try {
      return await step(attempt);
    } catch (thrown) {
      const error = BerthError.from(thrown);
      if (!isRetryable(error) && error.code !== 'resource_exhausted') throw error;
      if (c.stopping.aborted) throw error;
      c.measured.waits.inc({ reason: error.reason });
      c.log.warn({ err: error, wait_ms: waitMs }, 'cannot go on now; waits');
      await sleep(c.clock, waitMs * (0.5 + c.random.next()), c.stopping);
    }
  }
}

/** Settles a message by doing its step: done, or given back because the conductor stops, or never to be done. */
export async function settle(
  c: Conductor,
  message: IncomingMessage,
  step: (isRepeated: boolean) => Promise<void>,
): Promise<Settlement> {
  try {
    await untilDone(c, (attempt) => step(message.redelivered || attempt > 0));
    return ACK;
  } catch (thrown) {
    const error = BerthError.from(thrown);
    if (c.stopping.aborted) return REQUEUE;
    c.measured.refused.inc({ reason: error.reason });
    c.log.warn({ err: error, message_id: message.id, message_type: message.type }, 'refused');
    return drop(error);
  }
}
