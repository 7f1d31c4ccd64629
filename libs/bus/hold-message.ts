import type { Clock } from '../domain/clock';
import { BerthError, isRetryable } from '../domain/errors';
import { type RetryOptions, retryWithBackoff } from '../runtime/backoff';
import { ACK, type IncomingMessage, POSTPONE, type Settlement } from './port';

/** Which errors pass by themselves, and how their work is done again. */
export type HoldRetry = RetryOptions & Required<Pick<RetryOptions, 'isRetryable'>>;

/** How messages are held while something is away. */
export interface Holding {
  readonly clock: Clock;
  readonly config: { readonly holdMs: number };
  /** Its signal aborts when the process stops: messages in hand go back to the queue. */
  readonly retry: HoldRetry;
}

/**
 * Does a message's work to the end, however long the store, the broker or the schedulers are away, and answers how to settle
 * it: acked when done, given back when the process stops.
 *
 * The naive way is to requeue the message when something is away. It fails because a queue counts deliveries: an outage
 * of a minute would send good builds to the dead letters. So the message stays in hand, unacknowledged, and the work is
 * done again from its start, with backoff; but not for longer than `holdMs`, because RabbitMQ closes the channel of a
 * consumer that holds a message for its `consumer_timeout`. Then it goes to the end of its queue, which does not count, but
 * has a bound in time. It costs that all of it must be harmless when repeated, which redelivery asks for anyway.
 *
 * @param work  `isRepeated` tells it that it may have been begun before; answers how to settle the message, when not by an ack
 * @throws BerthError  what can never be done
 */
export async function holdMessage(
  { clock, config, retry }: Holding,
  message: IncomingMessage,
  work: (isRepeated: boolean) => Promise<Settlement | void>,
): Promise<Settlement> {
  const heldUntilMs = clock.now() + config.holdMs;
  const isRetryableNow = (thrown: unknown) => retry.isRetryable(thrown) && clock.now() < heldUntilMs;
  try {
    const options = { ...retry, isRetryable: isRetryableNow };
    return (await retryWithBackoff((attempt) => work(message.redelivered || attempt > 0), options)) ?? ACK;
  } catch (thrown) {
    if (retry.signal.aborted || retry.isRetryable(thrown)) return POSTPONE;
    throw thrown;
  }
}

/** Whether the same work can succeed later. */
export function isForNow(error: BerthError): boolean {
  return isRetryable(error) || error.code === 'resource_exhausted';
}
