import { BerthError } from '../domain/errors';

/* Errors of the bus for messages that it refuses or loses: the same from every adapter. */

/** The error of a cast to a missing queue. */
export function noSuchQueue(queue: string): BerthError {
  return new BerthError('not_found', 'no_such_queue', `there is no queue '${queue}'; its consumer has never started`);
}

/** The error of a call to a missing queue, which no one serves. */
export function nobodyServes(queue: string): BerthError {
  return new BerthError(
    'unavailable',
    'no_such_queue',
    `no process serves '${queue}' now; nothing was done, retry once one runs`,
  );
}

/** Also the broker's answer, without a reason, for a queue that is being deleted. */
export function queueFull(queue: string): BerthError {
  return new BerthError('resource_exhausted', 'queue_full', `queue '${queue}' is full; nothing was done, retry later`);
}

export function notConfirmed(queue: string): BerthError {
  return new BerthError(
    'unavailable',
    'not_confirmed',
    `the broker did not confirm a message to '${queue}' in time (BERTH_BUS_CONFIRM_TIMEOUT_MS); it may have it: send it again with the same id`,
  );
}

export function tooManyWaiting(): BerthError {
  return new BerthError(
    'resource_exhausted',
    'too_many_waiting',
    'too many messages wait to be published already (BERTH_BUS_MAX_WAITING); nothing was done, retry later',
  );
}

export function cancelled(queue: string): BerthError {
  return new BerthError('aborted', 'cancelled', `the caller no longer waits for the answer of '${queue}'`);
}

export function closing(): BerthError {
  return new BerthError('unavailable', 'closing', 'this process is closing its bus');
}

export function queueMismatch(queue: string, detail: string): BerthError {
  return new BerthError(
    'failed_precondition',
    'queue_mismatch',
    `queue '${queue}' exists with other properties than this version declares (${detail}); drain and delete it, or run the version that made it`,
  );
}

/** The queue to delete has consumers. */
export function queueInUse(queue: string): BerthError {
  return new BerthError('failed_precondition', 'queue_in_use', `queue '${queue}' has consumers; end them first`);
}

export function deliveryLimit(deliveries: number): BerthError {
  return new BerthError('resource_exhausted', 'delivery_limit', `delivered ${deliveries} times and never settled`);
}

export function postponedTooLong(postponedForMs: number): BerthError {
  const message = `could not be done for ${Math.round(postponedForMs / 1_000)} s (BERTH_BUS_MAX_POSTPONED_MS); send it again once what it needs is there`;
  return new BerthError('deadline_exceeded', 'postponed_too_long', message);
}

/** Limit of AMQP's short strings, such as routing keys. */
const MAX_TOPIC_BYTES = 255;

/** Why no broker ever accepts a topic; undefined for a valid one. */
export function topicProblem(topic: string): BerthError | undefined {
  const bytes = Buffer.byteLength(topic);
  if (bytes <= MAX_TOPIC_BYTES) return undefined;
  const message = `a topic of ${bytes} bytes is above the limit of ${MAX_TOPIC_BYTES}: '${topic.slice(0, 64)}…'`;
  return new BerthError('invalid_argument', 'topic_too_long', message);
}

/** @throws BerthError `invalid_argument / message_too_large`. */
export function checkSize(body: Uint8Array, maxMessageBytes: number): void {
  if (body.length <= maxMessageBytes) return;
  throw new BerthError(
    'invalid_argument',
    'message_too_large',
    `a message of ${body.length} bytes is above the limit of ${maxMessageBytes} (BERTH_BUS_MAX_MESSAGE_BYTES)`,
    { details: { bytes: String(body.length), limit: String(maxMessageBytes) } },
  );
}
