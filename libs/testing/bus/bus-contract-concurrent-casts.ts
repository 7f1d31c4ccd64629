import * as fc from 'fast-check';
import { backlogOf } from '../../bus/backlog';
import { ACK, type Bus, type CastOptions, drop, type IncomingMessage, REQUEUE } from '../../bus/port';
import type { QueueSpec } from '../../contracts/queues';
import { BerthError } from '../../domain/errors';
import { fakeClock } from '../fake-clock';
import { aMessage, aQueue, type BusWorld, failureOf, takeDeadLetter, textOf } from './bus-world';
import { gate, Inbox } from './inbox';

const TYPE = aMessage('').type;

interface Said {
  readonly bytes: number;
  readonly sender: string | undefined;
  readonly correlationId: string;
  readonly isByName: boolean;
}

/** Casts of one tick to a batching queue: each is delivered, redelivered, counted and dead-lettered by itself. */
export function describeConcurrentCasts(world: () => BusWorld): void {
  it.each([
    ['work', {}],
    ['host', { isTransient: true }],
  ] as const)(
    'carries each once and in order to a queue of kind %s, whatever its size, sender and marks, those to the queue by its name, too',
    async (kind, options) => {
      const [producer, consumer] = [await world().open(), await world().open()];
      const queue = aQueue(kind, { batching: true });
      let seen = new Inbox<string>();
      await consumer.consume(queue, async (message) => {
        seen.put(storyOf(message));
        return ACK;
      });
      const said = fc.record({
        bytes: fc.oneof({ weight: 9, arbitrary: fc.nat(300) }, fc.constantFrom(0, 100_000, 300_000)),
        sender: fc.option(fc.constantFrom('agent.1', 'agent.2'), { nil: undefined }),
        correlationId: fc.constantFrom('', 'a mark'),
        isByName: fc.constantFrom(false, false, false, false, true),
      });
      const arrives = async (casts: readonly Said[]) => {
        seen = new Inbox();
        const sent = casts.map(({ bytes, sender, correlationId, isByName }, n) => {
          const message = { type: TYPE, body: Buffer.alloc(bytes, 'x'), ...(sender === undefined ? {} : { sender }) };
          const mark = correlationId === '' ? {} : { correlationId };
          return producer.cast(isByName ? queue.name : queue, message, { ...options, id: `id-${n}`, ...mark });
        });
        await Promise.all(sent);
        const expected = casts.map(
          ({ bytes, sender = '', correlationId }, n) => `id-${n} ${sender} ${correlationId || undefined} ${bytes}`,
        );
        expect(await seen.has(casts.length)).toEqual(expected);
      };
      await fc.assert(fc.asyncProperty(fc.array(said, { maxLength: 100, size: 'max' }), arrives), { numRuns: 20 });
      expect(await consumer.depth(queue.name)).toBe(0);
    },
  );

  it('buries one that is dropped by itself, and the others are done', async () => {
    const [producer, consumer] = [await world().open(), await world().open()];
    const queue = aQueue('work', { batching: true });
    const done = new Inbox<string>();
    await consumer.consume(queue, async ({ body }) => {
      if (textOf(body) === '3') return drop(new BerthError('invalid_argument', 'bad_number', 'not this one'));
      done.put(textOf(body));
      return ACK;
    });
    await Promise.all(burst(producer, queue, ['1', '2', '3', '4'], { correlationId: 'mark' }));
    const dead = await takeDeadLetter(producer, queue.name);
    expect(dead).toMatchObject({ type: TYPE, id: 'id of 3', correlationId: 'mark' });
    expect(dead.headers).toMatchObject({ 'berth-error-reason': 'bad_number', 'berth-queue': queue.name });
    expect(textOf(dead.body)).toBe('3');
    await consumer.close();
    expect(done.items).toEqual(['1', '2', '4']);
    expect(await producer.depth(queue.name)).toBe(0);
  });

  it('drops one without a type unseen, and none of the others', async () => {
    const bus = await world().open();
    const queue = aQueue('work', { batching: true });
    const done = new Inbox<string>();
    await bus.consume(queue, async ({ body }) => {
      done.put(textOf(body));
      return ACK;
    });
    const types = [TYPE, '', TYPE];
    await Promise.all(types.map((type, n) => bus.cast(queue, aMessage(`${n}`, { type }))));
    const dead = await takeDeadLetter(bus, queue.name);
    expect(dead.headers).toMatchObject({ 'berth-error-reason': 'missing_type' });
    expect(await done.has(2)).toEqual(['0', '2']);
  });

  it('gives one that is requeued out again, marked as redelivered, and buries it alone at the delivery limit', async () => {
    const bus = await world().open();
    const queue = aQueue('work', { batching: true, deliveryLimit: 3 });
    const seen = new Inbox<string>();
    await bus.consume(queue, async ({ body, redelivered }) => {
      seen.put(`${textOf(body)}${redelivered ? ' again' : ''}`);
      return textOf(body) === 'poison' ? REQUEUE : ACK;
    });
    await Promise.all(burst(bus, queue, ['1', 'poison', '2']));
    const dead = await takeDeadLetter(bus, queue.name);
    expect(dead.headers).toMatchObject({ 'berth-error-reason': 'delivery_limit' });
    expect(dead.id).toBe('id of poison');
    expect(seen.items).toEqual(['1', 'poison', '2', 'poison again', 'poison again']);
    expect(await bus.depth(queue.name)).toBe(0);
  });

  it.each(['work', 'host', 'transient'] as const)(
    'gives those of a %s queue that are requeued out again with all that they had, and no others',
    async (kind) => {
      const bus = await world().open();
      const [queue, answers] = [aQueue(kind, { batching: true }), aQueue('transient')];
      const seen = new Inbox<string>();
      await bus.consume(queue, async (message) => {
        seen.put(`${storyOf(message)} ${message.replyTo} ${message.redelivered}`);
        return message.redelivered || Number(textOf(message.body)) % 3 > 0 ? ACK : REQUEUE;
      });
      const texts = Array.from({ length: 60 }, (_, n) => `${n}`);
      const options = { correlationId: 'mark', replyTo: answers.name };
      await Promise.all(burst(bus, queue, texts, options));
      const stories = (redelivered: boolean, some: readonly string[]) =>
        some.map((text) => `id of ${text}  mark ${text.length} ${answers.name} ${redelivered}`);
      const again = texts.filter((text) => Number(text) % 3 === 0);
      const expected = [...stories(false, texts), ...stories(true, again)];
      expect([...(await seen.has(expected.length))].sort()).toEqual(expected.sort());
      await bus.close();
      const other = await world().open();
      expect(await other.depth(queue.name)).toBe(0);
    },
  );

  it('requeues one whose handler throws, once, and no others', async () => {
    const bus = await world().open();
    const queue = aQueue('work', { batching: true });
    const seen = new Inbox<string>();
    await bus.consume(queue, async ({ body }) => {
      seen.put(textOf(body));
      if (textOf(body) === 'bad') throw new BerthError('internal', 'broken', 'it threw');
      return ACK;
    });
    await Promise.all(burst(bus, queue, ['1', 'bad', '2']));
    const dead = await takeDeadLetter(bus, queue.name);
    expect(dead).toMatchObject({ id: 'id of bad', headers: { 'berth-error-reason': 'broken' } });
    expect(seen.items).toEqual(['1', 'bad', '2', 'bad']);
  });

  it('lets one that ends its consumers take none of the others to the delivery limit with it', async () => {
    const queue = aQueue('work', { batching: true, deliveryLimit: 2 });
    const producer = await world().open();
    const never = gate();
    const [poisonings, done] = [new Inbox<boolean>(), new Inbox<string>()];
    const consumeUntilPoisoned = async (count: number) => {
      const consumer = await world().open({ drainTimeoutMs: 1 });
      await consumer.consume(queue, async ({ body, redelivered }) => {
        if (textOf(body) === 'poison') {
          poisonings.put(redelivered);
          await never.opened;
        }
        done.put(textOf(body));
        return ACK;
      });
      if (count === 1) await Promise.all(burst(producer, queue, ['1', '2', 'poison', '3', '4']));
      await poisonings.has(count);
      await consumer.close();
    };
    for (const count of [1, 2, 3]) await consumeUntilPoisoned(count);
    const last = await world().open();
    await last.consume(queue, async ({ body }) => (done.put(textOf(body)), ACK));
    await last.cast(queue, aMessage('5'));
    const dead = await takeDeadLetter(producer, queue.name);
    expect(dead).toMatchObject({ id: 'id of poison', headers: { 'berth-error-reason': 'delivery_limit' } });
    while (!done.items.includes('5')) await done.has(done.items.length + 1);
    expect(new Set(done.items)).toEqual(new Set(['1', '2', '3', '4', '5']));
    expect(poisonings.items).toEqual([false, true, true]);
    await last.close();
    expect(await producer.depth(queue.name)).toBe(0);
    never.open();
  });

  it('has no more of them handled at once than the prefetch, and lets none wait for another that is slow', async () => {
    const bus = await world().open();
    const queue = aQueue('work', { batching: true });
    const [slow, done, counts] = [gate(), new Inbox<string>(), { running: 0, most: 0 }];
    const handler = async ({ body }: IncomingMessage) => {
      counts.most = Math.max(counts.most, ++counts.running);
      await (textOf(body) === 'slow' ? slow.opened : new Promise(setImmediate));
      counts.running--;
      done.put(textOf(body));
      return ACK;
    };
    await bus.consume(queue, handler, { prefetch: 4 });
    await Promise.all(burst(bus, queue, ['slow', ...Array.from({ length: 99 }, () => 'quick')]));
    await done.has(99);
    expect(counts).toEqual({ running: 1, most: 4 });
    slow.open();
    expect((await done.has(100)).at(-1)).toBe('slow');
  });

  it('gives those that are not done to somebody else when their consumer goes', async () => {
    const [leaver, stayer] = [await world().open({ drainTimeoutMs: 50 }), await world().open()];
    const queue = aQueue('work', { batching: true });
    const [started, never] = [new Inbox<string>(), gate()];
    await leaver.consume(queue, async ({ body }) => {
      started.put(textOf(body));
      if (textOf(body) !== 'done') await never.opened;
      return ACK;
    });
    const texts = Array.from({ length: 50 }, (_, n) => (n % 10 === 0 ? 'done' : `cast ${n}`));
    await Promise.all(burst(stayer, queue, texts));
    await started.has(50);
    await leaver.close();
    const again = new Set<string>();
    const all = new Inbox<string>();
    await stayer.consume(queue, async ({ body, redelivered }) => {
      if (textOf(body) === 'done') return ACK;
      again.add(`${redelivered}`);
      all.put(textOf(body));
      return ACK;
    });
    expect([...(await all.has(45))].sort()).toEqual(texts.filter((text) => text !== 'done').sort());
    expect([...again]).toEqual(['true']);
    never.open();
  });

  it('counts what it takes as it counts what waits, settled or refused', async () => {
    const [producer, consumer] = [await world().open(), await world().open()];
    const queue = aQueue('work', { batching: true });
    await producer.declare(queue);
    const texts = Array.from({ length: 200 }, (_, n) => `${n}`);
    await Promise.all([...burst(producer, queue, texts), producer.cast(queue, aMessage('', { type: '' }))]);
    const waiting = await producer.depth(queue.name);
    const done = new Inbox<string>();
    expect(consumer.taken(queue.name)).toBe(0);
    await consumer.consume(queue, async ({ body }) => (done.put(textOf(body)), ACK));
    await done.has(200);
    await takeDeadLetter(producer, queue.name);
    expect([consumer.taken(queue.name), producer.taken(queue.name)]).toEqual([waiting, 0]);
  });

  it('sees a backlog, however many messages travelled together', async () => {
    const [clock, bus] = [fakeClock(), await world().open()];
    const queue = aQueue('work', { batching: true });
    await bus.declare(queue);
    await Promise.all(burst(bus, queue, Array<string>(1_600).fill('x')));
    const [done, release] = [new Inbox<string>(), gate()];
    const backlog = backlogOf(bus, queue.name, clock);
    const take = async ({ body }: IncomingMessage) => {
      if (done.items.length >= 320) await release.opened;
      done.put(textOf(body));
      return ACK;
    };
    await bus.consume(queue, take, { prefetch: 1 });
    await done.has(320);
    await clock.advance(1_000);
    expect(await backlog()).toBeDefined();
    release.open();
    await done.has(1_600);
    await clock.advance(1_000);
    expect(await backlog()).toBeUndefined();
  });

  it('tells each that the queue is full, or that it is not there', async () => {
    const bus = await world().open();
    const queue = aQueue('work', { batching: true, maxLength: 2 });
    await bus.declare(queue);
    let isFull = false;
    while (!isFull) {
      isFull = await bus.cast(queue, aMessage('x')).then(
        () => false,
        () => true,
      );
    }
    const failures = (to: QueueSpec) => Promise.all(burst(bus, to, ['1', '2', '3', '4', '5']).map(failureOf));
    const [full, missing] = await Promise.all([failures(queue), failures(aQueue('work', { batching: true }))]);
    expect(full).toEqual(full.map(() => ({ code: 'resource_exhausted', reason: 'queue_full' })));
    expect(missing).toEqual(missing.map(() => ({ code: 'not_found', reason: 'no_such_queue' })));
  });

  it('loses none when the bus closes in the same turn', async () => {
    const [leaver, stayer] = [await world().open(), await world().open()];
    const queue = aQueue('work', { batching: true });
    await stayer.declare(queue);
    const texts = Array.from({ length: 100 }, (_, n) => `${n}`);
    const casts = burst(leaver, queue, texts);
    await leaver.close();
    await Promise.all(casts);
    const seen = new Inbox<string>();
    await stayer.consume(queue, async ({ body }) => {
      seen.put(textOf(body));
      return ACK;
    });
    expect(await seen.has(100)).toEqual(texts);
  });
}

function burst(bus: Bus, queue: QueueSpec, texts: readonly string[], options: CastOptions = {}): Promise<void>[] {
  return texts.map((text) => bus.cast(queue, aMessage(text), { ...options, id: `id of ${text}` }));
}

function storyOf({ id, sender, correlationId, body }: IncomingMessage): string {
  return `${id} ${sender} ${correlationId} ${body.length}`;
}
