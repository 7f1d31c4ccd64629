import { connect } from 'amqplib';
import type { RabbitmqServer } from '#libs/testing/servers/servers';

/** Counts by name. */
export type Counts = ReadonlyMap<string, number>;

/** Counts since the last look. */
export interface Counter {
  take(): Counts;
  close(): Promise<unknown>;
}

const UUID = /[0-9a-f]{8}-[0-9a-f-]{27}/g;

/** Counts a broker's publishes by exchange and routing key, by its firehose; frames of several messages count as one. */
export async function countMessages(rabbitmq: RabbitmqServer): Promise<Counter> {
  await rabbitmq.ctl('trace_on');
  const connection = await connect(rabbitmq.url);
  const channel = await connection.createChannel();
  const { queue } = await channel.assertQueue('', { exclusive: true });
  await channel.bindQueue(queue, 'amq.rabbitmq.trace', 'publish.#');
  const { count, take } = counting();
  await channel.consume(
    queue,
    (message) => {
      const headers = message?.properties.headers as { exchange_name: string; routing_keys: string[] } | undefined;
      const key = headers?.routing_keys[0] ?? '';
      count(`${headers?.exchange_name ?? ''} ${nameOf(key)}`.trim());
    },
    { noAck: true },
  );
  return { take, close: () => connection.close() };
}

/** A count that begins anew when it is taken. */
export function counting() {
  let counts = new Map<string, number>();
  return {
    count: (name: string) => void counts.set(name, (counts.get(name) ?? 0) + 1),
    take: (): Counts => {
      const taken = counts;
      counts = new Map();
      return taken;
    },
  };
}

/** A routing key without what differs from build to build. */
function nameOf(key: string): string {
  return key
    .replaceAll(UUID, '*')
    .replace(/^amq\.gen-.*/, 'answer')
    .replace(/^(agent|amq\.rabbitmq\.reply-to).*/, '$1.*');
}
