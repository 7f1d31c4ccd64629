import type { Channel } from 'amqplib';

/** A target of a server, in the words of oslo.messaging. */
export interface OsloTarget {
  /** The topic exchange: `nova`. */
  readonly exchange: string;
  /** `scheduler` */
  readonly topic: string;
  /** The server's name among those of the topic. */
  readonly host: string;
  /** Kind of queues in the services' configuration (`amqp_durable_queues`, `rabbit_quorum_queue`). All must agree. */
  readonly queueKind: QueueKind;
  /** `serve` shares the topic's queue with other servers; `listen` gets a copy of every message and answers none. */
  readonly mode: 'serve' | 'listen';
}

export const QUEUE_KINDS = ['transient', 'durable', 'quorum'] as const;
export type QueueKind = (typeof QUEUE_KINDS)[number];

/** oslo.messaging's `rabbit_transient_queues_ttl`: a queue without a consumer goes after it. */
const UNUSED_QUEUE_MS = 1_800_000;
/** A listener that is slower than the requests loses the oldest. */
const MAX_UNHEARD = 1_000;

/**
 * Declares what a target needs: the exchanges, a queue for the topic and one for the host (or, to listen, one of its own), and one for
 * fanouts.
 *
 * @param unique  names the queues that are this connection's own
 * @returns the queues to consume
 * @throws what amqplib throws; 406 when a queue is there and of another kind
 */
export async function declareTarget(channel: Channel, target: OsloTarget, unique: string): Promise<string[]> {
  const { exchange, topic, host, queueKind, mode } = target;
  await channel.assertExchange(exchange, 'topic', { durable: queueKind !== 'transient', autoDelete: false });
  const queues = mode === 'serve' ? [topic, `${topic}.${host}`] : [`${topic}_listener_${unique}`];
  for (const queue of queues) {
    await channel.assertQueue(queue, mode === 'serve' ? sharedQueue(queueKind) : ownQueue);
    await channel.bindQueue(queue, exchange, mode === 'serve' ? queue : topic);
  }
  const fanout = `${topic}_fanout`;
  await channel.assertExchange(fanout, 'fanout', { durable: false, autoDelete: true });
  const fanoutQueue = `${fanout}_${unique}`;
  await channel.assertQueue(fanoutQueue, ownQueue);
  await channel.bindQueue(fanoutQueue, fanout, topic);
  return [...queues, fanoutQueue];
}

function sharedQueue(kind: QueueKind) {
  const quorum = kind === 'quorum' ? { arguments: { 'x-queue-type': 'quorum' } } : {};
  return { durable: kind !== 'transient', exclusive: false, autoDelete: false, ...quorum };
}

const ownQueue = {
  durable: false,
  exclusive: true,
  autoDelete: true,
  expires: UNUSED_QUEUE_MS,
  maxLength: MAX_UNHEARD,
};
