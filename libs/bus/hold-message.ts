import type { Clock } from '../domain/clock';
import { type BerthError, isRetryable } from '../domain/errors';
import { type RetryOptions, retryWithBackoff } from '../runtime/backoff';
import { ACK, type IncomingMessage, POSTPONE, type Settlement } from './port';

/** Retry options with the errors that pass by themselves. */
export type HoldRetry = RetryOptions & Required<Pick<RetryOptions, 'isRetryable'>>;

/** Settings for messages held during an outage. */
export interface Holding {
  readonly clock: Clock;
  readonly config: { readonly holdMs: number };
  /** Its signal aborts at shutdown: held messages return to the queue. */
  readonly retry: HoldRetry;
}

/**
 * Completes a message's work, however long the store, the broker or the schedulers are away, and returns its
 * settlement: acked when done, requeued at shutdown.
 *
 * The naive way is to requeue the message when a dependency is away. It fails because a queue counts deliveries: an
 * outage of a minute would dead-letter good builds. So the message stays here, unacknowledged, and the work restarts
 * from its beginning, with backoff; but at most for `holdMs`, because RabbitMQ closes the channel of a consumer that
 * holds a message for its `consumer_timeout`. Then it goes to the end of its queue, which does not count, but is
 * bounded in time. The cost: all of the work must be idempotent, which redelivery requires anyway.
 *
 * @param work  gets `isRepeated` when it may have begun before; may return a settlement other than an ack
 * @throws BerthError  an error that never passes
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

/** True when the same work can succeed later. */
export function isForNow(error: BerthError): boolean {
  return isRetryable(error) || error.code === 'resource_exhausted';
}
