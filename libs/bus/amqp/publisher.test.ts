import { EventEmitter } from 'node:events';
import type { ChannelModel, ConfirmChannel } from 'amqplib';
import type { Attachment, Connection } from '../../amqp/connection';
import { seededRandom } from '../../domain/random';
import { silentLog } from '../../runtime/log';
import { createMetrics } from '../../runtime/metrics';
import { fakeClock } from '../../testing/fake-clock';
import { noSuchQueue, notConfirmed } from '../errors';
import { Publisher } from './publisher';

/** A channel of a broker that nacks all publications to these queues, and two of three to `busy`; others it confirms. */
class Channel extends EventEmitter {
  readonly #full: readonly string[];
  #busy = 0;

  constructor(full: readonly string[]) {
    super();
    this.#full = full;
  }

  publish(_exchange: string, queue: string, _body: Buffer, _options: object, answer: (error: Error | null) => void) {
    const isRefused = this.#full.includes(queue) || (queue === 'busy' && ++this.#busy % 3 !== 0);
    queueMicrotask(() => answer(isRefused ? new Error('message nacked') : null));
    return true;
  }

  async close() {}
}

/** A publisher on one channel after the other, to each of which these queues are full. */
async function startPublisher(...full: readonly (readonly string[])[]) {
  const clock = fakeClock();
  let opened = 0;
  const model = {
    createConfirmChannel: async () => new Channel(full[opened++] ?? []) as unknown as ConfirmChannel,
  } as unknown as ChannelModel;
  let attaching: Promise<void> | undefined;
  const connection = {
    add(attachment: Attachment) {
      attaching = attachment.attach(model);
    },
    remove() {},
    holds: () => true,
  } as unknown as Connection;
  const limits = { publishWindow: 10, maxWaiting: 10, confirmTimeoutMs: 10_000 };
  const settings = { ...limits, name: 'test', noQueue: noSuchQueue, outcomeUnknown: () => notConfirmed('') };
  const around = { clock, random: seededRandom(1), log: silentLog, metrics: createMetrics({}) };
  const publisher = new Publisher(connection, settings, around);
  await attaching;
  function send(routingKey: string): Promise<string | undefined> {
    return new Promise((resolve) => {
      const message = { exchange: '', routingKey, content: Buffer.of(), options: {}, deadlineMs: Infinity };
      publisher.send({ ...message, settle: (error) => resolve(error?.reason), isWanted: () => true });
    });
  }
  /** Sends to these queues every second. */
  async function sendFor(seconds: number, ...queues: readonly string[]): Promise<readonly (string | undefined)[]> {
    let last: readonly (string | undefined)[] = [];
    for (let second = 0; second < seconds; second++) {
      last = await Promise.all(queues.map(send));
      await clock.advance(1_000);
    }
    return last;
  }
  return { sendFor, opened: () => opened };
}

it('opens a new channel when a queue refuses all for seconds: the broker may take it for full on one channel only', async () => {
  const { sendFor } = await startPublisher(['calls'], []);
  expect(await sendFor(5, 'calls', 'others')).toEqual(['queue_full', undefined]);
  await sendFor(1, 'calls', 'others');
  expect(await sendFor(1, 'calls', 'others')).toEqual([undefined, undefined]);
});

it('keeps the channel while a queue takes a message now and then', async () => {
  const { sendFor, opened } = await startPublisher([]);
  await sendFor(60, 'busy');
  expect(opened()).toBe(1);
});

it('opens a new channel every half minute at most, for a queue that is full indeed', async () => {
  const { sendFor, opened } = await startPublisher(['full'], ['full'], ['full']);
  expect(await sendFor(60, 'full')).toEqual(['queue_full']);
  expect(opened()).toBe(3);
});
