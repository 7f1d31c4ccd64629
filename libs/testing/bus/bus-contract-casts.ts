import { ACK, type IncomingMessage } from '../../bus/port';
import type { BerthError } from '../../domain/errors';
import { aMessage, aQueue, type BusWorld, failureOf, takeDeadLetter, textOf } from './bus-world';
import { gate, Inbox } from './inbox';

const KINDS = ['work', 'host', 'transient'] as const;

/** Casts: into a queue and out of it. */
export function describeCasts(world: () => BusWorld): void {
  it.each(KINDS)('keeps casts in a declared %s queue, in order, until a consumer comes', async (kind) => {
    const bus = await world().open();
    const queue = aQueue(kind, { maxLength: 1_000, ...(kind === 'work' ? { deliveryLimit: 5 } : {}) });
    await bus.declare(queue);
    for (const text of ['a', 'b', 'c']) await bus.cast(queue.name, aMessage(text, { sender: 'me' }), { id: text });
    expect(await bus.depth(queue.name)).toBe(3);
    const seen = new Inbox<IncomingMessage>();
    const subscription = await bus.consume(queue, async (message) => {
      seen.put(message);
      return ACK;
    });
    expect((await seen.has(3)).map(({ body }) => textOf(body))).toEqual(['a', 'b', 'c']);
    expect(seen.items[0]).toMatchObject({ id: 'a', sender: 'me', redelivered: false, deadlineMs: undefined });
    await subscription.cancel();
    expect(await bus.depth(queue.name)).toBe(0);
  });

  it.each([
    ['host', {}],
    ['host', { batching: true }],
    ['work', { batching: true }],
  ] as const)('buries casts to a %s queue (%j) that nobody takes in time, and keeps the others', async (kind, rest) => {
    const bus = await world().open();
    const queue = aQueue(kind, rest);
    await bus.declare(queue);
    await Promise.all([
      bus.cast(queue, aMessage('a'), { id: 'a', expiresInMs: 50 }),
      bus.cast(queue, aMessage('b'), { expiresInMs: 60_000 }),
      bus.cast(queue, aMessage('c')),
    ]);
    while ((await bus.depth(queue.name)) > 2);
    const dead = await takeDeadLetter(bus, queue.name);
    const headers = { 'berth-error-code': 'deadline_exceeded', 'berth-error-reason': 'expired' };
    expect(dead).toMatchObject({ id: 'a', body: Buffer.from('a'), headers });
    const seen = new Inbox<string>();
    await bus.consume(queue, async ({ body }) => {
      seen.put(textOf(body));
      return ACK;
    });
    expect(await seen.has(2)).toEqual(['b', 'c']);
  });

  it('carries where and under which mark a client wants its answer', async () => {
    const bus = await world().open();
    const [requests, answers] = [aQueue('host'), aQueue('transient')];
    const seen = new Inbox<IncomingMessage>();
    await bus.consume(answers, async (message) => {
      seen.put(message);
      return ACK;
    });
    await bus.consume(requests, async ({ replyTo, correlationId }) => {
      const mark = correlationId === undefined ? {} : { correlationId };
      if (replyTo !== undefined) await bus.cast(replyTo, aMessage('accepted'), mark);
      return ACK;
    });
    await bus.cast(requests.name, aMessage('x'), { replyTo: answers.name, correlationId: 'order 7' });
    const [answer] = await seen.has(1);
    expect(answer).toMatchObject({ correlationId: 'order 7', replyTo: undefined });
  });

  it('delivers two casts with the same id twice', async () => {
    const bus = await world().open();
    const queue = aQueue('work');
    const ids = new Inbox<string>();
    await bus.consume(queue, async ({ id }) => {
      ids.put(id);
      return ACK;
    });
    await Promise.all([1, 2].map(() => bus.cast(queue.name, aMessage('x'), { id: 'same' })));
    expect(await ids.has(2)).toEqual(['same', 'same']);
  });

  it('shares the work among competing consumers, each message once', async () => {
    const queue = aQueue('work');
    const seen = new Inbox<string>();
    const counts = [0, 0];
    for (const index of counts.keys()) {
      const consumer = await world().open();
      const handler = async ({ body }: IncomingMessage) => {
        counts[index] = (counts[index] ?? 0) + 1;
        seen.put(textOf(body));
        return ACK;
      };
      await consumer.consume(queue, handler, { prefetch: 2 });
    }
    const producer = await world().open();
    const texts = Array.from({ length: 200 }, (_, n) => String(n));
    await Promise.all(texts.map((text) => producer.cast(queue.name, aMessage(text))));
    expect([...(await seen.has(200))].sort()).toEqual([...texts].sort());
    expect(Math.min(...counts)).toBeGreaterThan(20);
  });

  it('gives a consumer as many messages at once as it prefetches, and more as it settles', async () => {
    const bus = await world().open();
    const queue = aQueue('host');
    await bus.declare(queue);
    for (let n = 0; n < 9; n++) await bus.cast(queue.name, aMessage(String(n)));
    const gates = Array.from({ length: 9 }, () => gate());
    const started = new Inbox<number>();
    let running = 0;
    let most = 0;
    const handler = async ({ body }: IncomingMessage) => {
      const n = Number(textOf(body));
      most = Math.max(most, ++running);
      started.put(n);
      await gates[n]?.opened;
      running--;
      return ACK;
    };
    await bus.consume(queue, handler, { prefetch: 3 });
    for (let n = 0; n < 9; n++) {
      await started.has(Math.min(9, n + 3));
      gates[n]?.open();
    }
    expect(started.items).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect(most).toBe(3);
  });

  it('takes thousands of casts at once through its window', async () => {
    const bus = await world().open({ publishWindow: 50 });
    const queue = aQueue('work');
    const seen = new Inbox<string>();
    await bus.consume(queue, async ({ id }) => {
      seen.put(id);
      return ACK;
    });
    const ids = Array.from({ length: 3_000 }, (_, n) => `cast-${n}`);
    await Promise.all(ids.map((id) => bus.cast(queue.name, aMessage('x'), { id })));
    expect(new Set(await seen.has(3_000))).toEqual(new Set(ids));
  });

  it('carries large messages whole, and refuses those above the limit', async () => {
    const bus = await world().open({ maxMessageBytes: 300_000 });
    const queue = aQueue('work');
    const seen = new Inbox<Uint8Array>();
    await bus.consume(queue, async ({ body }) => {
      seen.put(body);
      return ACK;
    });
    const body = Uint8Array.from({ length: 300_000 }, (_, n) => n % 251);
    await bus.cast(queue.name, { type: 't', body });
    const [received] = await seen.has(1);
    expect(Buffer.compare(received ?? Buffer.alloc(0), body)).toBe(0);
    const tooLarge = bus.cast(queue.name, { type: 't', body: new Uint8Array(300_001) });
    expect(await failureOf(tooLarge)).toEqual({ code: 'invalid_argument', reason: 'message_too_large' });
  });

  it('refuses casts to a queue that is not there', async () => {
    const bus = await world().open();
    const expected = { code: 'not_found', reason: 'no_such_queue' };
    const { name } = aQueue('work');
    expect(await failureOf(bus.cast(name, aMessage('x')))).toEqual(expected);
    expect(await failureOf(bus.depth(name))).toEqual(expected);
    expect(await failureOf(Promise.all([1, 2, 3].map(() => bus.cast(name, aMessage('x')))))).toEqual(expected);
  });

  it.each(KINDS)('refuses casts to a full %s queue, and takes them again when there is room', async (kind) => {
    const bus = await world().open();
    const queue = aQueue(kind, { maxLength: 3 });
    await bus.declare(queue);
    const refusals = new Set<string>();
    const isStored = (text: string) =>
      bus.cast(queue.name, aMessage(text)).then(
        () => true,
        ({ code, reason }: BerthError) => {
          refusals.add(`${code} / ${reason}`);
          return false;
        },
      );
    // RabbitMQ's count lags a little: it must refuse, and never take a message without keeping it.
    let stored = 0;
    while (await isStored(`waits ${stored}`)) stored++;
    expect(stored).toBeGreaterThanOrEqual(3);
    expect(stored).toBeLessThan(10);
    expect([...refusals]).toEqual(['resource_exhausted / queue_full']);
    const seen = new Inbox<string>();
    await bus.consume(queue, async ({ body }) => {
      seen.put(textOf(body));
      return ACK;
    });
    await seen.has(stored);
    while (!(await isStored('next')));
    expect((await seen.has(stored + 1)).at(-1)).toBe('next');
  });

  it('refuses a queue that exists with other properties, and goes on', async () => {
    const bus = await world().open();
    const queue = aQueue('host', { maxLength: 10 });
    await bus.declare(queue);
    const other = { ...queue, maxLength: 20 };
    const expected = { code: 'failed_precondition', reason: 'queue_mismatch' };
    expect(await failureOf(bus.declare(other))).toEqual(expected);
    expect(await failureOf(bus.consume(other, async () => ACK))).toEqual(expected);
    expect(await failureOf(bus.serve(other, {}))).toEqual(expected);
    await bus.declare(queue);
    await bus.cast(queue.name, aMessage('x'));
    expect(await bus.depth(queue.name)).toBe(1);
  });
}
