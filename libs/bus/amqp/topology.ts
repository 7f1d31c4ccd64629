import type { Channel } from 'amqplib';
import { connectionLost } from '../../amqp/broker-errors';
import { inCell } from '../../contracts/cells';
import { EVENTS_EXCHANGE, type QueueSpec } from '../../contracts/queues';
import { BerthError, invalidArgument, isOwnFault } from '../../domain/errors';
import { noSuchQueue, queueMismatch } from '../errors';
import { queueArguments } from '../queue-arguments';

/** Limit of a listener's unread events; above it the oldest are dropped. */
const MAX_UNHEARD_EVENTS = 100_000;

/** The exchange of a cell's events. */
export async function declareEvents(channel: Channel, cell: string): Promise<void> {
  await channel.assertExchange(inCell(cell, EVENTS_EXCHANGE), 'topic', { durable: true });
}

/** Binds a queue of this connection to topics of a cell. */
export async function bindEvents(channel: Channel, queue: string, cell: string, pattern: string): Promise<void> {
  await channel.bindQueue(queue, inCell(cell, EVENTS_EXCHANGE), pattern);
}

/** Declares a queue and its entrance. @throws BerthError `failed_precondition / queue_mismatch`; the channel is closed then. */
export async function declareQueue(channel: Channel, spec: QueueSpec): Promise<void> {
  try {
    await channel.assertQueue(spec.name, { durable: true, arguments: queueArguments(spec) });
    await bindEntrance(channel, spec);
  } catch (error) {
    throw refusalOf(error, spec.name);
  }
}

/** Binds a queue's entrance for restricted users. */
export async function bindEntrance(channel: Channel, { name, entrance }: QueueSpec): Promise<void> {
  if (entrance === undefined) return;
  await channel.assertExchange(entrance.exchange, 'topic', { durable: true });
  await channel.bindQueue(name, entrance.exchange, entrance.pattern);
}

/**
 * Checks that a queue, declared by a service, exists. @throws BerthError `not_found / no_such_queue`; the channel is
 * closed then.
 */
export async function findQueue(channel: Channel, { name }: QueueSpec): Promise<void> {
  try {
    await channel.checkQueue(name);
  } catch (error) {
    throw (error as { code?: unknown }).code === 404 ? noSuchQueue(name) : refusalOf(error, name);
  }
}

/** Declares an exclusive queue for answers to calls. */
export async function declareAnswerQueue(channel: Channel, name: string): Promise<string> {
  const { queue } = await channel.assertQueue(name, { exclusive: true, durable: false });
  return queue;
}

/** Declares an exclusive queue for topics of a cell. */
export async function declareEventQueue(
  channel: Channel,
  name: string,
  cell: string,
  pattern: string,
): Promise<string> {
  const options = { exclusive: true, durable: false, autoDelete: true, maxLength: MAX_UNHEARD_EVENTS };
  const { queue } = await channel.assertQueue(name, options);
  await bindEvents(channel, queue, cell, pattern);
  return queue;
}

/** The broker's error about a queue, as a BerthError. The codes are those of AMQP 0-9-1. */
export function refusalOf(thrown: unknown, queue: string): BerthError {
  if (thrown instanceof BerthError) return thrown;
  // An error of amqplib or the engine, before anything was sent.
  if (thrown instanceof Error && isOwnFault(thrown))
    return invalidArgument('not_encodable', `'${queue.slice(0, 64)}' can not be sent: ${thrown.message}`);
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

export function notConnected(): BerthError {
  return new BerthError('unavailable', 'not_connected', 'the broker is unavailable; nothing was done, retry later');
}

export function brokerBlocked(): BerthError {
  return new BerthError(
    'unavailable',
    'broker_blocked',
    'the broker is short of memory or disk and takes no messages; nothing was done, retry later',
  );
}
