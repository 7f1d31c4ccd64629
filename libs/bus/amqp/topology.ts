import type { Channel, Options } from 'amqplib';
import type { QueueSpec } from '../../contracts/queues';
import { BerthError } from '../../domain/errors';
import { queueMismatch } from '../errors';
import { DEAD_LETTER_QUEUE, MAX_DEAD_LETTERS } from '../handling/dead-letter';
import { DEAD_LETTERS } from '../port';

/** The topic exchange of events. */
export const EVENTS_EXCHANGE = 'berth.events';

/** A listener that is slower than the events loses the oldest above this many. */
const MAX_UNHEARD_EVENTS = 100_000;

/** What must be there before anything else: the exchange of events and the queue of dead letters. */
export async function declareBase(channel: Channel): Promise<void> {
  await channel.assertExchange(EVENTS_EXCHANGE, 'topic', { durable: true });
  await declareQueue(channel, DEAD_LETTER_QUEUE);
}

/** @throws BerthError `failed_precondition / queue_mismatch`; the channel is closed then. */
export async function declareQueue(channel: Channel, spec: QueueSpec): Promise<void> {
  try {
    await channel.assertQueue(spec.name, queueOptions(spec));
  } catch (error) {
    throw refusalOf(error, spec.name);
  }
}

/** A queue of this connection alone, with a name that the broker makes up. For answers to calls. */
export async function declareAnswerQueue(channel: Channel): Promise<string> {
  const { queue } = await channel.assertQueue('', { exclusive: true, durable: false });
  return queue;
}

/** A queue of this connection alone that hears topics. */
export async function declareEventQueue(channel: Channel, pattern: string): Promise<string> {
  const options = { exclusive: true, durable: false, autoDelete: true, maxLength: MAX_UNHEARD_EVENTS };
  const { queue } = await channel.assertQueue('', options);
  await channel.bindQueue(queue, EVENTS_EXCHANGE, pattern);
  return queue;
}

/** The arguments that every process must give in the same way. Part of the wire contract (`proto/README.md`). */
export function queueOptions({ name, kind, maxLength, deliveryLimit }: QueueSpec): Options.AssertQueue {
  if (name === DEAD_LETTERS) return { durable: true, maxLength: MAX_DEAD_LETTERS };
  const refuse = maxLength === undefined ? {} : { maxLength, overflow: 'reject-publish' };
  const bury = { deadLetterExchange: '', deadLetterRoutingKey: DEAD_LETTERS };
  switch (kind) {
    case 'work': {
      const limit = deliveryLimit === undefined ? {} : { 'x-delivery-limit': deliveryLimit };
      return { durable: true, ...refuse, ...bury, arguments: { 'x-queue-type': 'quorum', ...limit } };
    }
    case 'host':
      return { durable: true, ...refuse, ...bury };
    case 'transient':
      return { durable: false, ...refuse };
  }
}

/** What the broker says about a queue, in Berth's words. Its codes are those of AMQP 0-9-1. */
export function refusalOf(thrown: unknown, queue: string): BerthError {
  if (thrown instanceof BerthError) return thrown;
  const { code, message } = thrown as { code?: unknown; message?: string };
  switch (code) {
    case 406:
      return queueMismatch(queue, message ?? '');
    case 403:
      return new BerthError(
        'permission_denied',
        'broker_refused',
        `the broker does not let this user use '${queue}' (${message}); give it the permission`,
      );
    default:
      return connectionLost(thrown);
  }
}

export function connectionLost(cause?: unknown): BerthError {
  return new BerthError('unavailable', 'connection_lost', 'the connection to the broker was lost; retry', { cause });
}

export function notConnected(): BerthError {
  return new BerthError('unavailable', 'not_connected', 'the broker is away; nothing was done, retry later');
}

export function brokerBlocked(): BerthError {
  return new BerthError(
    'unavailable',
    'broker_blocked',
    'the broker is short of memory or disk and takes no messages; nothing was done, retry later',
  );
}

export function noAnswer(queue: string): BerthError {
  return new BerthError('unavailable', 'broker_silent', `the broker does not answer about '${queue}'; retry later`);
}
