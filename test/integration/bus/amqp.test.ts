import { randomUUID } from 'node:crypto';
import { type Channel, type ChannelModel, type ConsumeMessage, connect } from 'amqplib';
import { frameCodec, unframed } from '#libs/bus/amqp/batching/frame';
import { type OpenBusConfig, openBus } from '#libs/bus/open';
import { ACK, type Bus, type CastOptions, type IncomingMessage, REQUEUE } from '#libs/bus/port';
import { decodeError, ERROR_TYPE } from '#libs/contracts/error';
import type { QueueSpec } from '#libs/contracts/queues';
import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { type Log, silentLog } from '#libs/runtime/log';
import { createMetrics, type Metrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { aMessage, aQueue, errorOf, failureOf, takeDeadLetter, textOf } from '#libs/testing/bus/bus-world';
import { gate, Inbox } from '#libs/testing/bus/inbox';
import { freePort } from '#libs/testing/servers/server-process';
import { sharedServer } from '../../shared-servers';

const TYPE = aMessage('').type;

let buses: Bus[];
/** A client other than Berth. */
let stranger: ChannelModel;
let channel: Channel;

beforeEach(async () => {
  buses = [];
  stranger = await connect(sharedServer('rabbitmq'));
  channel = await stranger.createChannel();
});
afterEach(async () => {
  await Promise.all([stranger.close(), ...buses.map((bus) => bus.close())]);
});

async function open(
  config: Partial<OpenBusConfig> = {},
  metrics: Metrics = createMetrics({}),
  log: Log = silentLog,
): Promise<Bus> {
  const around = { clock: systemClock(), random: systemRandom, log, metrics };
  const bus = await openBus({ busUrl: sharedServer('rabbitmq'), ...config }, around);
  buses.push(bus);
  return bus;
}

function withUrl(change: (url: URL) => void): string {
  const url = new URL(sharedServer('rabbitmq'));
  change(url);
  return url.href;
}

describe('connecting', () => {
  it.each([
    ['password', (url: URL) => void (url.password = 'wrong')],
    ['virtual host', (url: URL) => void (url.pathname = '/nowhere')],
  ])('says at once that the %s is wrong, and keeps the password to itself', async (_, change) => {
    const error = await errorOf(open({ busUrl: withUrl(change), connectTimeoutMs: 60_000 }));
    expect(error).toMatchObject({ code: 'permission_denied', reason: 'broker_refused' });
    expect(error.message).toContain('BERTH_BUS_URL');
    expect(error.message).not.toContain('wrong');
  });

  it('gives up on a broker that is not there when its time is over', async () => {
    const port = await freePort();
    const error = await errorOf(open({ busUrl: `amqp://127.0.0.1:${port}`, connectTimeoutMs: 300 }));
    expect(error).toMatchObject({ code: 'unavailable', reason: 'broker_unreachable' });
    expect(error.message).toContain(`127.0.0.1:${port}`);
  });

  it('says at once, and once, where it looks for a broker that it waits for', async () => {
    const warnings: object[] = [];
    const log = { ...silentLog, warn: (facts: object) => void warnings.push(facts) };
    const port = await freePort();
    await errorOf(open({ busUrl: `amqp://127.0.0.1:${port}`, connectTimeoutMs: 300 }, createMetrics({}), log));
    const error = expect.objectContaining({ message: expect.stringContaining(`127.0.0.1:${port}`) });
    expect(warnings).toEqual([{ event: 'bus_unavailable', setting: 'BERTH_BUS_URL', error }]);
  });

  it('says so again each minute', async () => {
    const clock = systemClock();
    let aheadMs = 0;
    let warned = 0;
    const log = {
      ...silentLog,
      warn() {
        warned++;
        aheadMs += 60_000;
      },
    };
    const around = { random: systemRandom, log, metrics: createMetrics({}) };
    const ahead = { now: () => clock.now(), elapsed: () => clock.elapsed() + aheadMs, after: clock.after.bind(clock) };
    const busUrl = `amqp://127.0.0.1:${await freePort()}`;
    await errorOf(openBus({ busUrl, connectTimeoutMs: 1_000 }, { ...around, clock: ahead }));
    expect(warned).toBeGreaterThan(1);
  });

  it.each(['amqp://', 'amqp://host:port', 'amqp://h:1:2', 'http://host', 'nonsense'])(
    'refuses the URL %s',
    async (busUrl) => {
      expect(await failureOf(open({ busUrl }))).toEqual({ code: 'invalid_argument', reason: 'bad_bus_url' });
    },
  );
});

it('uses a queue of calls as an older version made it, until that goes', async () => {
  const queue = aQueue('transient', { maxLength: 10 });
  await channel.assertQueue(queue.name, { durable: false, maxLength: 10, overflow: 'reject-publish' });
  const server = await open();
  await server.serve(queue, { [TYPE]: async ({ body }) => body });
  const caller = await open();
  expect(textOf(await caller.call(queue, aMessage('still here'), { timeoutMs: 5_000 }))).toBe('still here');
});

describe('clients that are not Berth', () => {
  it('get an answer where and as they ask for it', async () => {
    const bus = await open();
    const queue = aQueue('transient');
    await bus.serve(queue, {
      [TYPE]: async ({ body, deadlineMs }) => {
        if (textOf(body) === 'wrong')
          throw new BerthError('not_found', 'no_such_host', 'no host x', { details: { host: 'x' } });
        return Buffer.from(`${textOf(body)} ${deadlineMs}`);
      },
    });
    const answers = await listen();
    const ask = (text: string) => {
      const options = { type: TYPE, replyTo: answers.queue, correlationId: `about ${text}` };
      channel.sendToQueue(queue.name, Buffer.from(text), options);
    };
    ask('right');
    ask('wrong');
    const [right, wrong] = [...(await answers.inbox.has(2))].sort((a, b) => a.content.length - b.content.length);
    expect(right?.content.toString()).toBe('right undefined');
    expect(right?.properties).toMatchObject({ correlationId: 'about right', type: undefined });
    expect(wrong?.properties).toMatchObject({
      correlationId: 'about wrong',
      type: ERROR_TYPE,
      headers: { 'berth-error': 'true' },
    });
    expect(decodeError(wrong?.content ?? Buffer.alloc(0))).toMatchObject({
      code: 'not_found',
      reason: 'no_such_host',
      details: { host: 'x' },
    });
  });

  it('may leave out all properties: a cast goes to the dead letters with the reason', async () => {
    const bus = await open();
    const queue = aQueue('work');
    await bus.consume(queue, async () => ACK);
    channel.sendToQueue(queue.name, Buffer.from('bare'));
    const dead = await takeDeadLetter(bus, queue.name);
    expect(dead.headers).toMatchObject({
      'berth-error-code': 'invalid_argument',
      'berth-error-reason': 'missing_type',
    });
    expect(textOf(dead.body)).toBe('bare');
  });

  it('may set properties to nonsense', async () => {
    const bus = await open();
    const queue = aQueue('host');
    const seen = new Inbox<IncomingMessage>();
    await bus.consume(queue, async (message) => {
      seen.put(message);
      return ACK;
    });
    const headers = { 'x-delivery-count': 'many', note: 'kept', n: 7, 'berth-error': true };
    channel.sendToQueue(queue.name, Buffer.alloc(0), { type: 'odd', headers, timestamp: 1, priority: 200 });
    const [message] = await seen.has(1);
    expect(message).toMatchObject({ type: 'odd', sender: '', deadlineMs: undefined, redelivered: false });
    expect(message?.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(message?.headers).toEqual({ 'x-delivery-count': 'many', note: 'kept' });
  });

  it('hear events with a queue of their own', async () => {
    const bus = await open();
    const heard = await listen();
    await channel.bindQueue(heard.queue, 'berth.events', 'instance.active.#');
    await bus.publish('instance.error.p1.u1', aMessage('not this'));
    await bus.publish('instance.active.p1.u1', aMessage('this', { sender: 'conductor' }));
    const [event] = await heard.inbox.has(1);
    expect(event?.content.toString()).toBe('this');
    expect(event?.fields.routingKey).toBe('instance.active.p1.u1');
    expect(event?.properties).toMatchObject({ type: TYPE, appId: 'conductor' });
  });

  async function listen() {
    const inbox = new Inbox<ConsumeMessage>();
    const { queue } = await channel.assertQueue('', { exclusive: true });
    await channel.consume(queue, (message) => message && inbox.put(message), { noAck: true });
    return { queue, inbox };
  }
});

/** The texts that arrive in a queue, all of them acked. */
async function textsFrom(bus: Bus, queue: QueueSpec): Promise<Inbox<string>> {
  const seen = new Inbox<string>();
  await bus.consume(queue, async ({ body }) => {
    seen.put(textOf(body));
    return ACK;
  });
  return seen;
}

/** Malformed frames. */
const MALFORMED: readonly (readonly [string, () => Buffer])[] = [
  ['is empty', () => frameOf([])],
  ['has more than 32 messages', () => frameOf(Array(33).fill('x'))],
  ['has a frame in it', () => frameOf(['x'], frameCodec.type)],
  ['is no frame', () => Buffer.from([10, 200, 1])],
];

function frameOf(texts: readonly string[], type = TYPE): Buffer {
  const messages = texts.map((text) => {
    const [messageId, correlationId, body] = [`id of ${text}`, `about ${text}`, Buffer.from(text)];
    return { type, messageId, correlationId, appId: '', traceparent: '', body };
  });
  return Buffer.from(frameCodec.encode(messages));
}

function textsIn(message: ConsumeMessage | undefined): string[] {
  return message === undefined ? [] : unframed(message).map(({ body }) => textOf(body));
}

describe('frames of calls', () => {
  const TIMES = { timeoutMs: 5_000 };

  it('carry the calls of one tick to a batching queue; one call alone is a message as anybody would send it', async () => {
    const bus = await open();
    const queue = aQueue('transient', { batching: true });
    await bus.declare(queue);
    const calls = Array.from({ length: 40 }, (_, n) => bus.call(queue, aMessage(`${n}`), TIMES));
    calls.push(bus.call(queue, aMessage('other'), { timeoutMs: 6_000, id: 'other-id' }));
    const seen = new Inbox<ConsumeMessage>();
    const { consumerTag } = await channel.consume(queue.name, (message) => message && seen.put(message));
    const [first, second, alone] = await seen.has(3);
    expect([first, second].map((message) => message?.properties)).toMatchObject(
      [1, 2].map(() => ({ type: frameCodec.type, expiration: '5000' })),
    );
    const framed = [first, second].map(textsIn);
    expect(framed.map(({ length }) => length)).toEqual([32, 8]);
    expect(framed.flat()).toEqual(calls.slice(0, 40).map((_, n) => `${n}`));
    expect(alone?.properties).toMatchObject({ type: TYPE, messageId: 'other-id', expiration: '6000' });
    expect(alone?.content.toString()).toBe('other');
    // After a consumer dies with frames in hand, their calls come again, alone.
    await channel.cancel(consumerTag);
    channel.nackAll();
    await bus.serve(queue, { [TYPE]: async ({ body, redelivered }) => Buffer.from(`${redelivered} ${textOf(body)}`) });
    const texts = [...Array.from({ length: 40 }, (_, n) => `${n}`), 'other'];
    expect((await Promise.all(calls)).map(textOf)).toEqual(texts.map((text) => `true ${text}`));
    expect(await bus.depth(queue.name)).toBe(0);
  });

  it('are answered in frames, each call that is left over by itself', async () => {
    const bus = await open();
    const queue = aQueue('transient', { batching: true });
    const slow = gate();
    await bus.serve(queue, {
      [TYPE]: async ({ body }) => {
        if (textOf(body) === 'slow') await slow.opened;
        if (textOf(body) === 'wrong') throw new BerthError('not_found', 'no_such_host', 'no host x');
        return body;
      },
    });
    const { queue: replyTo } = await channel.assertQueue('', { exclusive: true });
    const answers = new Inbox<ConsumeMessage>();
    await channel.consume(replyTo, (message) => message && answers.put(message), { noAck: true });
    channel.sendToQueue(queue.name, frameOf(['quick', 'slow', 'wrong']), { type: frameCodec.type, replyTo });
    const [frame] = await answers.has(1);
    expect(frame?.properties.type).toBe(frameCodec.type);
    expect(frameCodec.decode(frame?.content ?? Buffer.alloc(0))).toMatchObject([
      { correlationId: 'about quick', body: Buffer.from('quick') },
      { correlationId: 'about wrong', type: ERROR_TYPE },
    ]);
    slow.open();
    const [, alone] = await answers.has(2);
    expect(alone?.properties).toMatchObject({ correlationId: 'about slow', messageId: 'id of slow', type: undefined });
  });

  it('are never sent to a client that calls with messages of its own', async () => {
    const bus = await open();
    const queue = aQueue('transient', { batching: true });
    await bus.serve(queue, { [TYPE]: async ({ body }) => body });
    const { queue: replyTo } = await channel.assertQueue('', { exclusive: true });
    const answers = new Inbox<ConsumeMessage>();
    await channel.consume(replyTo, (message) => message && answers.put(message), { noAck: true });
    const texts = Array.from({ length: 20 }, (_, n) => `${n}`);
    for (const text of texts)
      channel.sendToQueue(queue.name, Buffer.from(text), { type: TYPE, replyTo, correlationId: text });
    const received = await answers.has(20);
    expect(received.map(({ properties }) => properties.correlationId)).toEqual(texts);
    expect(received.map(({ content }) => content.toString())).toEqual(texts);
  });

  it.each(MALFORMED)('go to the dead letters when one %s, and others are taken', async (_, bytes) => {
    const bus = await open();
    const queue = aQueue('transient', { batching: true });
    await bus.serve(queue, { [TYPE]: async ({ body }) => body });
    channel.sendToQueue(queue.name, bytes(), { type: frameCodec.type, replyTo: 'nowhere' });
    const dead = await takeDeadLetter(bus, queue.name);
    expect(dead.headers?.['berth-error-reason']).toMatch(/^(bad_frame|malformed_message)$/);
    const answers = ['a', 'b'].map((text) => bus.call(queue, aMessage(text), TIMES));
    expect((await Promise.all(answers)).map(textOf)).toEqual(['a', 'b']);
  });
});

describe('frames of casts', () => {
  it('carry the casts of one tick to a batching queue; one alone is a message as anybody would send it', async () => {
    const bus = await open();
    const [queue, other] = [aQueue('work', { batching: true }), aQueue('work', { batching: true })];
    await Promise.all([bus.declare(queue), bus.declare(other)]);
    const texts = Array.from({ length: 33 }, (_, n) => `${n}`);
    const casts = texts.map((text) => bus.cast(queue, aMessage(text), { id: `id of ${text}` }));
    casts.push(bus.cast(other, aMessage('x', { sender: 'me' }), { id: 'x', correlationId: 'c' }));
    await Promise.all(casts);
    expect([await bus.depth(queue.name), await bus.depth(other.name)]).toEqual([2, 1]);
    const seen = await take(queue.name, 2);
    expect(seen[0]?.properties).toMatchObject({ type: frameCodec.type, deliveryMode: 2, replyTo: undefined });
    expect(textsIn(seen[0])).toEqual(texts.slice(0, 32));
    expect(seen[1]?.properties).toMatchObject({ type: TYPE, messageId: 'id of 32', deliveryMode: 2 });
    expect(seen[1]?.content.toString()).toBe('32');
    const [alone] = await take(other.name, 1);
    expect(alone?.properties).toMatchObject({ type: TYPE, messageId: 'x', appId: 'me', correlationId: 'c' });
  });

  it('carry nothing to a queue that is not batching, or that is named without its spec', async () => {
    const bus = await open();
    const [single, batching] = [aQueue('work'), aQueue('work', { batching: true })];
    await Promise.all([bus.declare(single), bus.declare(batching)]);
    const texts = ['1', '2', '3'];
    await Promise.all(texts.flatMap((t) => [bus.cast(single, aMessage(t)), bus.cast(batching.name, aMessage(t))]));
    for (const { name } of [single, batching]) {
      const seen = await take(name, 3);
      expect(seen.map(({ properties, content }) => [properties.type, content.toString()])).toEqual(
        texts.map((text) => [TYPE, text]),
      );
    }
  });

  it('leave before what is cast after them and goes alone; an event leaves at once', async () => {
    const bus = await open();
    const queue = aQueue('work', { batching: true });
    await bus.declare(queue);
    await channel.bindQueue(queue.name, 'berth.events', queue.name);
    const cast = (text: string, options: CastOptions = {}) => bus.cast(queue, aMessage(text), options);
    await Promise.all([
      cast('1'),
      cast('2'),
      bus.cast(queue.name, aMessage('3')),
      cast('4'),
      cast('5', { replyTo: 'somewhere' }),
      bus.cast(queue.name, aMessage('6')),
      cast('7'),
      cast('8', { isTransient: true }),
      cast('9'),
      cast('10', { isTransient: true }),
      bus.publish(queue.name, aMessage('an event')),
      cast('11'),
    ]);
    const seen = await take(queue.name, 8);
    const stories = seen.map((message) => textsIn(message).join(' and '));
    expect(stories).toEqual(['1 and 2', '3', '4', '5', '6', 'an event', '7 and 9 and 11', '8 and 10']);
    expect(seen[3]?.properties.replyTo).toBe('somewhere');
    expect(seen.slice(6).map(({ properties }) => properties.deliveryMode)).toEqual([2, 1]);
  });

  it('take no others with them when one can not be encoded, or is a frame', async () => {
    const bus = await open();
    const queue = aQueue('work', { batching: true });
    const seen = await textsFrom(bus, queue);
    const long = 'x'.repeat(256);
    const results = await Promise.allSettled([
      bus.cast(queue, aMessage('1')),
      bus.cast(queue, aMessage('2'), { id: long }),
      bus.cast(queue, aMessage('3'), { correlationId: long }),
      bus.cast(queue, { type: frameCodec.type, body: frameOf(['4', '5']) }),
      bus.cast(queue, aMessage('6')),
    ]);
    expect(results.map((result) => (result.status === 'rejected' ? result.reason.reason : 'sent'))).toEqual([
      'sent',
      'not_encodable',
      'not_encodable',
      'sent',
      'sent',
    ]);
    expect(await seen.has(4)).toEqual(['1', '4', '5', '6']);
  });

  it("are handled one by one, with what is their own and what is the frame's", async () => {
    const bus = await open();
    const queue = aQueue('work', { batching: true, deliveryLimit: 5 });
    const seen = new Inbox<IncomingMessage>();
    await bus.consume(queue, async (message) => {
      seen.put(message);
      return message.redelivered || textOf(message.body) === 'a' ? ACK : REQUEUE;
    });
    channel.sendToQueue(queue.name, frameOf(['a', 'b']), { type: frameCodec.type, replyTo: 'client' });
    const told = ({ id, correlationId, replyTo, redelivered }: IncomingMessage) =>
      `${id}, ${correlationId}, to ${replyTo}${redelivered ? ', again' : ''}`;
    const [a, b] = ['id of a, about a, to client', 'id of b, about b, to client'];
    expect((await seen.has(3)).map(told)).toEqual([a, b, `${b}, again`]);
    expect(new Set(seen.items.map(({ deadlineMs }) => deadlineMs))).toEqual(new Set([undefined]));
    await bus.close();
    expect(seen.items).toHaveLength(3);
    expect((await channel.checkQueue(queue.name)).messageCount).toBe(0);
  });

  it('are split when a process died with them: their messages come alone, as durable as before, with their count', async () => {
    const bus = await open();
    const queue = aQueue('work', { batching: true });
    await bus.declare(queue);
    const [durable, fleeting] = [
      ['a', 'b'],
      ['c', 'd'],
    ];
    await Promise.all(durable.map((text) => bus.cast(queue, aMessage(text))));
    await Promise.all(fleeting.map((text) => bus.cast(queue, aMessage(text), { isTransient: true })));
    const taken = new Inbox<ConsumeMessage>();
    const { consumerTag } = await channel.consume(queue.name, (message) => message && taken.put(message));
    await taken.has(2);
    await channel.cancel(consumerTag);
    channel.nackAll();
    // Frames are split before delivery, and this consumer does not ack single messages: they go to the next.
    const splitter = await open({ drainTimeoutMs: 1 });
    const never = gate();
    const handedOut = new Inbox<string>();
    await splitter.consume(
      queue,
      async ({ body }) => {
        handedOut.put(textOf(body));
        await never.opened;
        return ACK;
      },
      { prefetch: 2 },
    );
    await handedOut.has(2);
    await splitter.close();
    const alone = await take(queue.name, 4);
    const facts = alone.map((message) => {
      const { type, deliveryMode, headers } = message.properties;
      return { text: textsIn(message).join(' and '), type, deliveryMode, count: headers?.['berth-deliveries'] };
    });
    const expected = [
      ...durable.map((text) => ({ text, type: TYPE, deliveryMode: 2, count: 1 })),
      ...fleeting.map((text) => ({ text, type: TYPE, deliveryMode: 1, count: 1 })),
    ];
    expect(facts.sort((x, y) => x.text.localeCompare(y.text))).toEqual(expected);
    never.open();
  });

  it('give a message out here again when it is to be requeued and the queue is full', async () => {
    const bus = await open();
    const queue = aQueue('host', { batching: true, maxLength: 1 });
    await bus.declare(queue);
    channel.sendToQueue(queue.name, frameOf(['a', 'b', 'c']), { type: frameCodec.type });
    const [seen, mayGoOn, filled] = [new Inbox<string>(), gate(), gate()];
    const subscription = await bus.consume(
      queue,
      async ({ body, redelivered }) => {
        seen.put(`${textOf(body)} ${redelivered}`);
        await filled.opened;
        if (textOf(body) === 'b' && !redelivered) return REQUEUE;
        if (redelivered) await mayGoOn.opened;
        return ACK;
      },
      { prefetch: 1 },
    );
    await seen.has(1);
    // The consumer holds its frame and takes no other message: the queue fills.
    for (let isFull = false; !isFull; )
      isFull = await bus.cast(queue, aMessage('filler')).then(
        () => false,
        ({ reason }: BerthError) => reason === 'queue_full',
      );
    filled.open();
    expect((await seen.has(4)).slice(0, 4)).toEqual(['a false', 'b false', 'c false', 'b true']);
    mayGoOn.open();
    await subscription.cancel();
  });

  it.each(MALFORMED)('go to the dead letters when one %s, and others are taken', async (_, bytes) => {
    const bus = await open();
    const queue = aQueue('work', { batching: true });
    const seen = await textsFrom(bus, queue);
    channel.sendToQueue(queue.name, bytes(), { type: frameCodec.type });
    const dead = await takeDeadLetter(bus, queue.name);
    expect(dead.headers?.['berth-error-reason']).toMatch(/^(bad_frame|malformed_message)$/);
    expect(Buffer.compare(dead.body, bytes())).toBe(0);
    await Promise.all(['a', 'b'].map((text) => bus.cast(queue, aMessage(text))));
    expect(await seen.has(2)).toEqual(['a', 'b']);
  });

  it('are one message like others for whoever takes casts from a queue that is not batching', async () => {
    const bus = await open();
    const queue = aQueue('transient');
    const seen = new Inbox<string>();
    await bus.consume(queue, async ({ type }) => {
      seen.put(type);
      return ACK;
    });
    channel.sendToQueue(queue.name, frameOf(['a', 'b']), { type: frameCodec.type });
    expect(await seen.has(1)).toEqual([frameCodec.type]);
  });

  it('take one place of the publish window, and are counted one by one when they are not taken', async () => {
    const metrics = createMetrics({});
    const bus = await open({ publishWindow: 1, maxWaiting: 1 }, metrics);
    const [queue, missing] = [aQueue('work', { batching: true }), aQueue('work', { batching: true })];
    await bus.declare(queue);
    const casts = Array.from({ length: 64 }, () => bus.cast(queue, aMessage('x')));
    expect(await metrics.expose()).toContain('berth_bus_messages_unconfirmed 64');
    await Promise.all(casts);
    const failed = Array.from({ length: 3 }, () => failureOf(bus.cast(missing, aMessage('x'))));
    expect(new Set((await Promise.all(failed)).map(({ reason }) => reason))).toEqual(new Set(['no_such_queue']));
    const text = await metrics.expose();
    expect(text).toContain('berth_bus_not_sent_total{reason="no_such_queue"} 3');
    expect(text).toContain('berth_bus_messages_unconfirmed 0');
  });

  async function take(queue: string, count: number): Promise<readonly ConsumeMessage[]> {
    const inbox = new Inbox<ConsumeMessage>();
    await channel.consume(queue, (message) => message && inbox.put(message), { noAck: true });
    return inbox.has(count);
  }
});

it('reads in the dead letters of the broker itself why they are there', async () => {
  const bus = await open();
  const queue = aQueue('work', { deliveryLimit: 2 });
  await bus.declare(queue);
  await bus.cast(queue.name, aMessage('kills whoever takes it'));
  await channel.consume(queue.name, (message) => message && channel.nack(message));
  const dead = await takeDeadLetter(bus, queue.name);
  expect(dead.headers).toMatchObject({
    'berth-error-code': 'resource_exhausted',
    'berth-error-reason': 'delivery_limit',
    'berth-queue': queue.name,
  });
});

it('refuses what can not be encoded, and goes on', async () => {
  const bus = await open();
  const queue = aQueue('host');
  await bus.declare(queue);
  const expected = { code: 'invalid_argument', reason: 'not_encodable' };
  const long = 'x'.repeat(256);
  expect(await failureOf(bus.cast(queue.name, aMessage('x'), { id: long }))).toEqual(expected);
  const calls = aQueue('transient');
  await bus.declare(calls);
  const fails = (type: string) => failureOf(bus.call(calls.name, aMessage('x', { type }), { timeoutMs: 300 }));
  const noAnswer = { code: 'deadline_exceeded', reason: 'no_answer' };
  expect(await Promise.all([fails(long), fails(TYPE), fails(TYPE)])).toEqual([expected, noAnswer, noAnswer]);
  await bus.cast(queue.name, aMessage('x'));
  expect(await bus.depth(queue.name)).toBe(1);
});

it('refuses casts when too many wait already, and lets those that wait through', async () => {
  const bus = await open({ publishWindow: 1, maxWaiting: 10 });
  const queue = aQueue('work');
  await bus.declare(queue);
  const casts = Array.from({ length: 30 }, () => bus.cast(queue.name, aMessage('x')));
  const results = await Promise.allSettled(casts);
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as BerthError] : []));
  expect(refused).toHaveLength(19);
  expect(refused[0]).toMatchObject({ code: 'resource_exhausted', reason: 'too_many_waiting' });
  expect(await bus.depth(queue.name)).toBe(11);
});

it('tells the casts with one id apart by where they went', async () => {
  const bus = await open();
  const queue = aQueue('host');
  await bus.declare(queue);
  const missing = aQueue('host').name;
  const names = [missing, queue.name, missing, queue.name, missing];
  const results = await Promise.allSettled(names.map((name) => bus.cast(name, aMessage('x'), { id: 'same' })));
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected', 'fulfilled', 'rejected']);
});

it('tells its metrics what it did', async () => {
  const metrics = createMetrics({});
  const bus = await open({}, metrics);
  await failureOf(bus.cast(aQueue('host').name, aMessage('x')));
  await failureOf(bus.call(aQueue('host').name, aMessage('x'), { timeoutMs: 1_000 }));
  const text = await metrics.expose();
  expect(text).toContain('berth_bus_connected 1');
  expect(text).toContain('berth_bus_not_sent_total{reason="no_such_queue"} 2');
  expect(text).toContain('berth_bus_messages_unconfirmed 0');
});

describe('what somebody deletes on the broker', () => {
  const settings = { cell: 'heals' };

  it('is declared again while the process lives, and readiness tells meanwhile', async () => {
    const bus = await open(settings);
    const heard = new Inbox<string>();
    await bus.subscribe('a.#', (_topic, { body }) => heard.put(textOf(body)));
    await bus.publish('a.b', aMessage('before'));
    expect(await heard.has(1)).toEqual(['before']);
    await channel.deleteExchange('cell.heals.berth.events');
    expect(await failureOf(bus.publish('a.b', aMessage('lost')))).toMatchObject({ code: 'unavailable' });
    expect(bus.isConnected()).toBe(false);
    await until(() => bus.isConnected());
    await until(async () => {
      await bus.publish('a.b', aMessage('after')).catch(() => {});
      return heard.items.includes('after');
    });
  });

  it('is declared again though nobody sends anything: an entrance, a binding, a queue', async () => {
    const bus = await open(settings);
    const entrance = { exchange: `test.${randomUUID()}`, pattern: 'way.in.#' };
    const queue = aQueue('host', { entrance });
    await bus.declare(queue);
    const name = `cell.heals.${queue.name}`;
    const isReachable = async () => {
      const probe = await stranger.createConfirmChannel();
      probe.on('error', () => {});
      let isReturned = false;
      probe.on('return', () => {
        isReturned = true;
      });
      try {
        probe.publish(`cell.heals.${entrance.exchange}`, 'way.in.x', Buffer.from('x'), { mandatory: true });
        await probe.waitForConfirms();
        return !isReturned;
      } catch {
        return false;
      }
    };
    expect(await isReachable()).toBe(true);
    await channel.unbindQueue(name, `cell.heals.${entrance.exchange}`, entrance.pattern);
    await until(isReachable);
    await channel.deleteExchange(`cell.heals.${entrance.exchange}`);
    await until(isReachable);
    await channel.deleteQueue(name);
    await until(isReachable);
  });

  /** Polls until the condition holds; the test's own time limit applies. */
  async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await isSo())) await sleep(systemClock(), 100);
  }
});
