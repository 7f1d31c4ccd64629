import * as fc from 'fast-check';
import { ACK, type Bus, type CastOptions, drop, type IncomingMessage, REQUEUE } from '../bus/port';
import { BerthError } from '../domain/errors';
import { aMessage, aQueue, type BusWorld, failureOf, takeDeadLetter, textOf } from './bus-world';
import { gate, Inbox } from './inbox';

const TYPE = aMessage('').type;

interface Said extends CastOptions {
  readonly bytes: number;
  readonly sender: string | undefined;
}

/** Casts of one turn that an adapter may carry together: each is a cast as if it were alone. */
export function describePackedCasts(world: () => BusWorld): void {
  it.each([
    ['work', {}],
    ['host', { isTransient: true }],
  ] as const)(
    'carries each once and in order to a queue of kind %s, whatever its size, sender and marks, those between them that go alone, too',
    async (kind, options) => {
      const [producer, consumer] = [await world().open(), await world().open()];
      const queue = aQueue(kind);
      let seen = new Inbox<string>();
      await consumer.consume(queue, async (message) => {
        seen.put(storyOf(message));
        return ACK;
      });
      const said = fc.record({
        bytes: fc.oneof({ weight: 9, arbitrary: fc.nat(300) }, fc.constantFrom(0, 100_000, 300_000)),
        sender: fc.option(fc.constantFrom('agent.1', 'agent.2'), { nil: undefined }),
        correlationId: fc.constantFrom('', 'a mark'),
        isPackable: fc.constantFrom(true, true, true, true, false),
      });
      const arrives = async (casts: readonly Said[]) => {
        seen = new Inbox();
        const sent = casts.map(({ bytes, sender, correlationId = '', isPackable = false }, n) => {
          const message = { type: TYPE, body: Buffer.alloc(bytes, 'x'), ...(sender === undefined ? {} : { sender }) };
          const mark = correlationId === '' ? {} : { correlationId };
          return producer.cast(queue.name, message, { ...options, id: `id-${n}`, isPackable, ...mark });
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
    const queue = aQueue('work');
    const done = new Inbox<string>();
    await consumer.consume(queue, async ({ body }) => {
      if (textOf(body) === '3') return drop(new BerthError('invalid_argument', 'bad_number', 'not this one'));
      done.put(textOf(body));
      return ACK;
    });
    await Promise.all(burst(producer, queue.name, ['1', '2', '3', '4'], { correlationId: 'mark' }));
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
    const queue = aQueue('work');
    const done = new Inbox<string>();
    await bus.consume(queue, async ({ body }) => {
      done.put(textOf(body));
      return ACK;
    });
    const types = [TYPE, '', TYPE];
    await Promise.all(types.map((type, n) => bus.cast(queue.name, aMessage(`${n}`, { type }), { isPackable: true })));
    const dead = await takeDeadLetter(bus, queue.name);
    expect(dead.headers).toMatchObject({ 'berth-error-reason': 'missing_type' });
    expect(await done.has(2)).toEqual(['0', '2']);
  });

  it('gives one that is requeued out again, marked as redelivered, and buries it alone at the delivery limit', async () => {
    const bus = await world().open();
    const queue = aQueue('work', { deliveryLimit: 3 });
    const seen = new Inbox<string>();
    await bus.consume(queue, async ({ body, redelivered }) => {
      if (textOf(body) !== 'poison') return ACK;
      seen.put(`${redelivered}`);
      return REQUEUE;
    });
    await Promise.all(burst(bus, queue.name, ['1', 'poison', '2']));
    const dead = await takeDeadLetter(bus, queue.name);
    expect(dead.headers).toMatchObject({ 'berth-error-reason': 'delivery_limit' });
    expect(dead.id).toBe('id of poison');
    expect(seen.items).toEqual(['false', 'true', 'true']);
    expect(await bus.depth(queue.name)).toBe(0);
  });

  it('has no more of them handled at once than the prefetch, and lets none wait for another that is slow', async () => {
    const bus = await world().open();
    const queue = aQueue('work');
    const [slow, done, counts] = [gate(), new Inbox<string>(), { running: 0, most: 0 }];
    const handler = async ({ body }: IncomingMessage) => {
      counts.most = Math.max(counts.most, ++counts.running);
      await (textOf(body) === 'slow' ? slow.opened : new Promise(setImmediate));
      counts.running--;
      done.put(textOf(body));
      return ACK;
    };
    await bus.consume(queue, handler, { prefetch: 4 });
    await Promise.all(burst(bus, queue.name, ['slow', ...Array.from({ length: 99 }, () => 'quick')]));
    await done.has(99);
    expect(counts).toEqual({ running: 1, most: 4 });
    slow.open();
    expect((await done.has(100)).at(-1)).toBe('slow');
  });

  it('gives those that are not done to somebody else when their consumer goes', async () => {
    const [leaver, stayer] = [await world().open({ drainTimeoutMs: 50 }), await world().open()];
    const queue = aQueue('work');
    const [started, never] = [new Inbox<string>(), gate()];
    await leaver.consume(queue, async ({ body }) => {
      started.put(textOf(body));
      if (textOf(body) !== 'done') await never.opened;
      return ACK;
    });
    const texts = Array.from({ length: 50 }, (_, n) => (n % 10 === 0 ? 'done' : `cast ${n}`));
    await Promise.all(burst(stayer, queue.name, texts));
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

  it('tells each that the queue is full, or that it is not there', async () => {
    const bus = await world().open();
    const queue = aQueue('work', { maxLength: 2 });
    await bus.declare(queue);
    let isFull = false;
    while (!isFull) {
      isFull = await bus.cast(queue.name, aMessage('x')).then(
        () => false,
        () => true,
      );
    }
    const failures = (name: string) => Promise.all(burst(bus, name, ['1', '2', '3', '4', '5']).map(failureOf));
    const [full, missing] = await Promise.all([failures(queue.name), failures(aQueue('work').name)]);
    expect(full).toEqual(full.map(() => ({ code: 'resource_exhausted', reason: 'queue_full' })));
    expect(missing).toEqual(missing.map(() => ({ code: 'not_found', reason: 'no_such_queue' })));
  });

  it('loses none when the bus closes in the same turn', async () => {
    const [leaver, stayer] = [await world().open(), await world().open()];
    const queue = aQueue('work');
    await stayer.declare(queue);
    const texts = Array.from({ length: 100 }, (_, n) => `${n}`);
    const casts = burst(leaver, queue.name, texts);
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

function burst(bus: Bus, queue: string, texts: readonly string[], options: CastOptions = {}): Promise<void>[] {
  return texts.map((text) => bus.cast(queue, aMessage(text), { ...options, id: `id of ${text}`, isPackable: true }));
}

function storyOf({ id, sender, correlationId, body }: IncomingMessage): string {
  return `${id} ${sender} ${correlationId} ${body.length}`;
}
