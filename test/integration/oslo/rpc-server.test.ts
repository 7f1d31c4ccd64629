import { randomUUID } from 'node:crypto';
import { connect } from 'amqplib';
import type { RpcMethod } from '#libs/oslo/dispatch';
import { readReply, writeRequest } from '#libs/oslo/envelope';
import { RemoteError } from '#libs/oslo/remote-error';
import { RpcServer } from '#libs/oslo/rpc-server';
import type { OsloTarget } from '#libs/oslo/target';
import { openRpcClient, type RpcClient } from '#libs/oslo/testing/rpc-client';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { gate, Inbox } from '#libs/testing/bus/inbox';
import { sharedServer } from '../../shared-servers';

const PREFETCH = 16;

const clock = systemClock();
let target: Pick<OsloTarget, 'exchange' | 'topic'>;
let opened: { close(): Promise<void> }[];
let client: RpcClient;

beforeEach(async () => {
  opened = [];
  target = { exchange: randomUUID(), topic: randomUUID() };
  await serve({ declares: async () => result('') });
  client = await openRpcClient(sharedServer('rabbitmq'), target);
});
afterEach(async () => {
  await client.close();
  await Promise.all(opened.map((one) => one.close()));
});

const result = (value: unknown) => ({ kind: 'result', value }) as const;

/** A server in place of the former one. */
async function serve(methods: Readonly<Record<string, RpcMethod>>, own: Partial<OsloTarget> = {}): Promise<RpcServer> {
  if (own.mode !== 'listen' && own.topic === undefined) await Promise.all(opened.splice(0).map((one) => one.close()));
  const around = { clock, random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const consuming = gate();
  const settings = {
    url: sharedServer('rabbitmq'),
    target: { ...target, host: 'one', queueKind: 'transient', mode: 'serve', ...own } as const,
    processName: 'test',
    prefetch: PREFETCH,
    maxBodyBytes: 10_000,
    reconnectDelayMs: 100,
    onConsuming: () => consuming.open(),
  };
  const server = new RpcServer(settings, { version: '4.5', methods }, around);
  opened.push(server);
  await server.open();
  await consuming.opened;
  return server;
}

it('answers a call with its result, or with the exception that its method throws', async () => {
  await serve({
    echo: async (args) => result(args),
    refuse: async () => {
      throw new RemoteError('NoValidHost', 'nova.exception', 'No valid host was found. why', { reason: 'why' });
    },
    break: async () => {
      throw new Error('a defect');
    },
  });
  expect(await client.call('echo', { a: [1] })).toEqual({ a: [1] });
  await expect(client.call('refuse', {})).rejects.toMatchObject({
    className: 'NoValidHost',
    kwargs: { reason: 'why' },
  });
  await expect(client.call('break', {})).rejects.toMatchObject({ module: 'berth' });
});

it('refuses versions, namespaces and methods that it does not have', async () => {
  await serve({ echo: async (args) => result(args) });
  for (const [method, options] of [
    ['echo', { version: '4.6' }],
    ['echo', { version: '5.0' }],
    ['echo', { namespace: 'baseapi' }],
  ] as const) {
    await expect(client.call(method, {}, options)).rejects.toMatchObject({ className: 'UnsupportedVersion' });
  }
  await expect(client.call('toString', {})).rejects.toMatchObject({ className: 'NoSuchMethod' });
  expect(await client.call('echo', {}, { version: '4.0' })).toEqual({});
});

it('works on a message that comes twice only once, and gets every fanout', async () => {
  const casts = new Inbox<unknown>();
  await serve({
    count: async (args) => {
      casts.put(args);
      return result(1);
    },
  });
  await client.call('count', { n: 1 }, { uniqueId: 'same' });
  void client.call('count', { n: 2 }, { uniqueId: 'same' });
  await client.fanout('count', { n: 3 });
  expect(await casts.has(2)).toEqual([{ n: 1 }, { n: 3 }]);
});

it('tells a caller that waits that it works on the call', async () => {
  const done = gate();
  await serve({
    slow: async () => {
      await done.opened;
      return result('done');
    },
  });
  expect(await client.call('slow', {}, { monitorTimeoutS: 1, onHeartbeat: () => done.open() })).toBe('done');
});

it('drops what it can not read and what is too large, and goes on', async () => {
  await serve({ echo: async (args) => result(args) });
  await client.publish(Buffer.from('nonsense'));
  await client.publish(Buffer.alloc(20_000));
  expect(await client.call('echo', {})).toEqual({});
});

it('hands a call over to another topic, whose server answers the caller', async () => {
  await serve({ pick: async () => ({ kind: 'hand_over', topic: 'stock' }) });
  await expect(client.call('pick', {})).rejects.toThrow('no server takes');
  await serve({ pick: async ({ n }) => result(['stock', n]) }, { topic: 'stock' });
  expect(await client.call('pick', { n: 1 })).toEqual(['stock', 1]);
});

it('gets a copy of each call where it listens, and answers none', async () => {
  await serve({ pick: async () => result('served') });
  const heard = new Inbox<unknown>();
  const pick: RpcMethod = async (args) => {
    heard.put(args);
    return result('heard');
  };
  await serve({ pick }, { mode: 'listen' });
  expect(await client.call('pick', { n: 1 })).toBe('served');
  expect(await heard.has(1)).toEqual([{ n: 1 }]);
});

it('takes what another server had in hand when it died', async () => {
  await serve({ pick: async ({ n }) => result(n) });
  const other = await connect(sharedServer('rabbitmq'));
  const channel = await other.createChannel();
  const taken = gate();
  await channel.consume(target.topic, () => taken.open());
  const answers = [client.call('pick', { n: 1 }), client.call('pick', { n: 2 })];
  await taken.opened;
  await other.close();
  expect(await Promise.all(answers)).toEqual([1, 2]);
});

it('goes on with others while the queues of callers are gone, and answers one that comes back', async () => {
  await serve({ echo: async (args) => result(args) });
  const queue = randomUUID();
  const ask = (messageId: string, to: string) => {
    const request = { method: 'echo', version: '4.5', namespace: undefined, args: {}, uniqueId: randomUUID() };
    return client.publish(writeRequest({ ...request, replyTo: { queue: to, messageId, monitorTimeoutS: undefined } }));
  };
  await ask('late', queue);
  for (let calls = 0; calls < 10 * PREFETCH; calls++) await ask('lost', randomUUID());
  expect(await client.call('echo', { n: 1 })).toEqual({ n: 1 });
  const back = await connect(sharedServer('rabbitmq'));
  const channel = await back.createChannel();
  const heard = new Inbox<string>();
  await channel.assertQueue(queue, { exclusive: true });
  await channel.consume(queue, (message) => heard.put(message ? readReply(message.content).messageId : ''));
  expect(await heard.has(1)).toEqual(['late']);
  await back.close();
});
