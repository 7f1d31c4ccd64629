import { openBus } from '#libs/bus/open';
import { ACK, type Bus, REQUEUE } from '#libs/bus/port';
import type { QueueSpec } from '#libs/contracts/queues';
import { sleep } from '#libs/domain/clock';
import { BerthError, isRetryable } from '#libs/domain/errors';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { aMessage, aQueue, BusWorld, errorOf, failureOf, textOf } from '#libs/testing/bus/bus-world';
import { gate, Inbox } from '#libs/testing/bus/inbox';
import { type RabbitmqServer, startRabbitmq } from '#libs/testing/servers/servers';
import { ALARMS, CLOSE_CONNECTIONS, deleteQueue } from './fleet/broker-control';
import { DELAY_MS, Proxy } from './fleet/proxy';

const clock = systemClock();
const TYPE = aMessage('').type;
const QUICK = { confirmTimeoutMs: 3_000, reconnectDelayMs: 200, drainTimeoutMs: 500 };

let broker: RabbitmqServer;
let world: BusWorld;
/** Stops `castWithoutEnd`, also where its test fails. */
let casting: AbortController | undefined;

beforeAll(async () => {
  broker = await startRabbitmq();
});
afterAll(() => broker.stop());
beforeEach(() => {
  world = new BusWorld((config) => {
    const around = { clock, random: systemRandom, log: silentLog, metrics: createMetrics({}) };
    return openBus({ busUrl: broker.url, ...QUICK, ...config }, around);
  });
});
afterEach(() => {
  casting?.abort();
  return world.close();
});

/** Ways to lose the broker; after each of them it is there again. */
const LOSSES: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['is killed and started again', () => broker.kill('SIGKILL').then(() => broker.restart())],
  ['is stopped and started again', () => broker.restart()],
  ['closes all connections', () => broker.eval(CLOSE_CONNECTIONS)],
];

describe.each(LOSSES)('when the broker %s', (_, lose) => {
  it.each([
    ['to a queue', {}],
    ['to a batching queue', { batching: true }],
  ])(
    'delivers every confirmed cast at least once, %s, to consumers that come back by themselves',
    async (__, property) => {
      const [producer, consumer] = [await world.open(), await world.open()];
      const queue = aQueue('work', { maxLength: 100_000, deliveryLimit: 20, ...property });
      const received = new Set<string>();
      await consumer.consume(queue, async ({ id }) => {
        received.add(id);
        return ACK;
      });
      const casts = castWithoutEnd(producer, queue);
      await casts.confirmed.has(500);
      await lose();
      await casts.confirmed.has(casts.confirmed.items.length + 500);
      await casts.stop();
      expect(casts.failed.size).toBeGreaterThan(0);
      expect([...casts.failed].filter((code) => code !== 'unavailable' && code !== 'not_found')).toEqual([]);
      await until(() => casts.confirmed.items.every((id) => received.has(id)));
    },
  );

  it('settles every call in flight by its deadline, and answers the next', async () => {
    const [client, server] = [await world.open(), await world.open()];
    const queue = aQueue('transient', { maxLength: 10_000 });
    const [started, never] = [new Inbox<string>(), gate()];
    await server.serve(queue, {
      [TYPE]: async ({ body }) => {
        if (textOf(body) !== 'slow') return body;
        started.put('slow');
        await never.opened;
        return body;
      },
    });
    const startedMs = clock.now();
    const call = () => errorOf(client.call(queue.name, aMessage('slow'), { timeoutMs: 10_000 }));
    const calls = Promise.all(Array.from({ length: 50 }, call));
    await started.has(50);
    const lost = lose();
    const reasons = (await calls).map(({ code, reason }) => `${code} / ${reason}`);
    expect(clock.now() - startedMs).toBeLessThan(11_000);
    expect(new Set(reasons)).toEqual(new Set(['deadline_exceeded / connection_lost']));
    await lost;
    expect(await callUntilAnswered(client, queue.name, 'again')).toBe('again');
    never.open();
  });

  it('declares again what was declared, hears events again, and says that it is connected', async () => {
    const bus = await world.open();
    const queue = aQueue('transient');
    await bus.declare(queue);
    const heard = new Inbox<string>();
    await bus.subscribe('a.*', (__, { body }) => heard.put(textOf(body)));
    const disconnected = until(() => !bus.isConnected());
    await lose();
    await disconnected;
    await until(() => bus.isConnected());
    await bus.cast(queue.name, aMessage('kept'));
    await until(async () => {
      await bus.publish('a.b', aMessage('news'));
      return heard.items.length > 0;
    });
    expect(heard.items[0]).toBe('news');
  });
});

it('keeps the consumers of many queues on few channels, and brings them all back', async () => {
  const [agents, client] = [await world.open(), await world.open()];
  const received = new Inbox<string>();
  const queues = Array.from({ length: 300 }, () => aQueue('host', { maxLength: 100 }));
  const consume = (queue: (typeof queues)[number]) =>
    agents.consume(queue, async ({ body }) => {
      received.put(textOf(body));
      return ACK;
    });
  await Promise.all(queues.map(consume));
  expect(Number(await broker.eval('length(rabbit_channel:list())'))).toBeLessThan(40);
  await broker.eval(CLOSE_CONNECTIONS);
  await until(() => client.isConnected() && agents.isConnected());
  await Promise.all(queues.map(({ name }) => client.cast(name, aMessage(name))));
  expect(new Set(await received.has(300))).toEqual(new Set(queues.map(({ name }) => name)));
});

it('consumes again from a queue that somebody deleted, and acks in vain what was deleted with it', async () => {
  const bus = await world.open();
  const queue = aQueue('work');
  const [received, release] = [new Inbox<string>(), gate()];
  await bus.consume(queue, async ({ body }) => {
    received.put(textOf(body));
    await release.opened;
    return ACK;
  });
  await bus.cast(queue.name, aMessage('before'));
  await received.has(1);
  await broker.eval(deleteQueue(queue.name));
  await until(() => bus.cast(queue.name, aMessage('after')).then(() => true, isMissing));
  expect(await received.has(2)).toEqual(['before', 'after']);
  release.open();
  await world.close();
  const other = await world.open();
  expect(await other.depth(queue.name)).toBe(0);
});

it('gives out once more, not twice, what is requeued after its connection was lost', async () => {
  const bus = await world.open();
  const queue = aQueue('work', { batching: true });
  const [seen, release] = [new Inbox<string>(), gate()];
  await bus.consume(queue, async ({ body, redelivered }) => {
    seen.put(`${textOf(body)}${redelivered ? ' again' : ''}`);
    if (redelivered || textOf(body) === 'last') return ACK;
    await release.opened;
    return REQUEUE;
  });
  await Promise.all(['a', 'b'].map((text) => bus.cast(queue, aMessage(text))));
  await seen.has(2);
  await broker.eval(CLOSE_CONNECTIONS);
  await seen.has(4);
  release.open();
  await until(() => bus.isConnected());
  await bus.cast(queue, aMessage('last'));
  expect(await seen.has(5)).toEqual(['a', 'b', 'a again', 'b again', 'last']);
  await bus.close();
});

it('goes on after the broker stood still', async () => {
  const [client, server] = [await world.open({ heartbeatS: 1 }), await world.open({ heartbeatS: 1 })];
  const queue = aQueue('transient');
  await server.serve(queue, { [TYPE]: async ({ body }) => body });
  await broker.kill('SIGSTOP');
  // The signal takes a moment to reach all of the broker's threads: until then it answers.
  let call: unknown;
  await until(async () => {
    call = await client.call(queue.name, aMessage('x'), { timeoutMs: 500 }).catch((thrown: unknown) => thrown);
    return !(call instanceof Uint8Array);
  });
  expect(call).toMatchObject({ code: 'deadline_exceeded', reason: 'no_answer' });
  const cast = await errorOf(client.cast(queue.name, aMessage('x')));
  expect(cast).toMatchObject({ code: 'unavailable' });
  await until(() => !client.isConnected());
  await broker.kill('SIGCONT');
  expect(await callUntilAnswered(client, queue.name, 'again')).toBe('again');
});

it('says at once that a broker without memory takes nothing, and goes on when it does', async () => {
  const bus = await world.open();
  const queue = aQueue('host');
  await bus.declare(queue);
  await broker.eval(ALARMS.memory.raise);
  try {
    // The broker blocks a connection when it publishes; what it has sent by then waits in vain.
    await until(() =>
      failureOf(bus.cast(queue.name, aMessage('x'))).then(
        ({ reason }) => reason === 'broker_blocked',
        () => false,
      ),
    );
    expect(bus.isConnected()).toBe(false);
    const call = bus.call(queue.name, aMessage('x'), { timeoutMs: 5_000 });
    expect(await failureOf(call)).toEqual({ code: 'unavailable', reason: 'broker_blocked' });
  } finally {
    await broker.eval(ALARMS.memory.clear);
  }
  await until(() => bus.isConnected());
  await bus.cast(queue.name, aMessage('x'));
});

/** Keeps 200 casts under way until it is stopped. */
function castWithoutEnd(bus: Bus, queue: QueueSpec) {
  const confirmed = new Inbox<string>();
  const failed = new Set<string>();
  let count = 0;
  const stopping = new AbortController();
  casting = stopping;
  const castOneByOne = async () => {
    while (!stopping.signal.aborted) {
      const id = `cast-${++count}`;
      try {
        await bus.cast(queue, aMessage('x'), { id });
        confirmed.put(id);
      } catch (error) {
        failed.add(BerthError.from(error).code);
        // Not at once: two hundred of them would take the processor that the broker starts with.
        await sleep(clock, 100);
      }
    }
  };
  const done = Promise.all(Array.from({ length: 200 }, castOneByOne));
  const stop = async () => {
    stopping.abort();
    await done;
  };
  return { confirmed, failed, stop };
}

async function callUntilAnswered(bus: Bus, queue: string, text: string): Promise<string> {
  for (;;) {
    try {
      return textOf(await bus.call(queue, aMessage(text), { timeoutMs: 1_000 }));
    } catch (error) {
      if (!isRetryable(BerthError.from(error))) throw error;
      await sleep(clock, 20);
    }
  }
}

/** A queue refuses while it is deleted, and is not there then. */
function isMissing(error: unknown): boolean {
  if (['no_such_queue', 'queue_full'].includes(BerthError.from(error).reason)) return false;
  throw error;
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(clock, 10);
}

it('can be closed while it connects again, whatever becomes of that connection', async () => {
  const proxy = await Proxy.to(broker.port);
  const around = { clock, random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const busUrl = broker.url.replace(String(broker.port), String(proxy.port));
  const own = await openBus({ busUrl, ...QUICK }, around);
  proxy.cut('delay');
  proxy.drop();
  // The handshake takes six delays, the end of the connection two more: it is closed in the one, and breaks in the other.
  await sleep(clock, 1.5 * DELAY_MS);
  const closing = own.close();
  await sleep(clock, 5.75 * DELAY_MS);
  proxy.drop();
  expect(await closing).toBeUndefined();
  proxy.close();
});
