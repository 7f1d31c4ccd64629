import { settleRefused } from '#libs/bus/answer-client';
import { ACK, drop, type IncomingMessage, POSTPONE, type Settlement } from '#libs/bus/port';
import { BerthError, isRetryable } from '#libs/domain/errors';
import { type RetryOptions, retryWithBackoff } from '#libs/runtime/backoff';
import type { Conductor } from '../context';

const BACKOFF = { firstMs: 50, maxMs: 5_000 };

/**
 * Settles a message by doing its work to the end, however long the store, the broker or the schedulers are away: acked when
 * done, dropped when it can never be done, given back when the conductor stops.
 *
 * The naive way is to requeue the message when something is away. It fails because a queue counts deliveries: an outage
 * of a minute would send good builds to the dead letters. So the message stays in hand, unacknowledged, and the work is
 * done again from its start, with backoff; but not for longer than `holdMs`, because RabbitMQ closes the channel of a
 * consumer that holds a message for its `consumer_timeout`. Then it goes to the end of its queue, which does not count.
 * It costs that all of it must be harmless when repeated, which redelivery asks for anyway.
 *
 * @param work  `isRepeated` tells it that it may have been begun before; answers how to settle the message, when not by an ack
 */
export async function settleMessage(
  c: Conductor,
  message: IncomingMessage,
  work: (isRepeated: boolean) => Promise<Settlement | void>,
): Promise<Settlement> {
  const heldUntilMs = c.clock.now() + c.config.holdMs;
  const isRetryableNow = (thrown: unknown) => isForNow(BerthError.from(thrown)) && c.clock.now() < heldUntilMs;
  try {
    const retry = { ...c.retry, isRetryable: isRetryableNow };
    return (await retryWithBackoff((attempt) => work(message.redelivered || attempt > 0), retry)) ?? ACK;
  } catch (thrown) {
    const error = BerthError.from(thrown);
    if (c.stopping.aborted || isForNow(error)) return POSTPONE;
    noteRefused(c, message, error);
    return drop(error);
  }
}

/** Tells the client of a request that it is refused, and settles its message. */
export function refuseRequest(c: Conductor, message: IncomingMessage, error: BerthError): Promise<Settlement> {
  noteRefused(c, message, error);
  return settleRefused(c.bus, message, error);
}

function noteRefused({ measured, log }: Conductor, { id, type }: IncomingMessage, error: BerthError): void {
  measured.refused.inc({ reason: error.reason });
  log.warn({ event: 'message_refused', err: error, message_id: id, message_type: type }, 'message refused');
}

/** How work is done again while something is away. */
export function retryOptions({ clock, random, log, measured, stopping }: Omit<Conductor, 'retry'>): RetryOptions {
  return {
    ...BACKOFF,
    clock,
    random,
    signal: stopping,
    isRetryable: (thrown) => isForNow(BerthError.from(thrown)),
    onFailure: (thrown, pauseMs) => {
      const error = BerthError.from(thrown);
      measured.waits.inc({ reason: error.reason });
      log.warn({ event: 'unavailable_retrying', err: error, pause_ms: pauseMs }, `${error.reason}, retrying`);
    },
  };
}

/** Whether the same work can succeed later. */
function isForNow(error: BerthError): boolean {
  return isRetryable(error) || error.code === 'resource_exhausted';
}
