import { ACK, drop, type IncomingMessage, POSTPONE, REQUEUE } from '../../bus/port';
import { BerthError } from '../../domain/errors';
import { aMessage, aQueue, type BusWorld, takeDeadLetter, textOf } from './bus-world';
import { gate, Inbox } from './inbox';

const KINDS = ['work', 'host', 'transient'] as const;

/** Effects of each settlement on a message. */
export function describeSettlements(world: () => BusWorld): void {
  it.each(KINDS)('gives a requeued message of a %s queue out again, marked as redelivered', async (kind) => {
    const bus = await world().open();
    const queue = aQueue(kind);
    const seen = new Inbox<readonly [string, boolean]>();
    await bus.consume(queue, async ({ id, redelivered }) => {
      seen.put([id, redelivered]);
      return redelivered ? ACK : REQUEUE;
    });
    await bus.cast(queue.name, aMessage('x'), { id: 'one' });
    expect(await seen.has(2)).toEqual([
      ['one', false],
      ['one', true],
    ]);
  });

  it.each([{}, { batching: true }])(
    'puts a postponed message to the end of its queue, redelivered and not counted (%j)',
    async (property) => {
      const bus = await world().open();
      const queue = aQueue('work', { deliveryLimit: 2, ...property });
      const seen: string[] = [];
      const ended = new Inbox<boolean>();
      let postponed = 0;
      await bus.declare(queue);
      await Promise.all(['first', 'second'].map((id) => bus.cast(queue, aMessage(id), { id, replyTo: 'r' })));
      await bus.consume(
        queue,
        async ({ id, redelivered, body, replyTo }) => {
          seen.push(id);
          if (id === 'second') return ACK;
          expect([redelivered, textOf(body), replyTo]).toEqual([postponed > 0, 'first', 'r']);
          if (postponed++ < 5) return POSTPONE;
          ended.put(true);
          return ACK;
        },
        { prefetch: 1 },
      );
      await ended.has(1);
      expect(seen).toEqual(['first', 'second', ...Array<string>(5).fill('first')]);
    },
  );

  it('refuses a message that is postponed for too long, whoever takes it', async () => {
    const queue = aQueue('work');
    const refused = new Inbox<readonly [string, string]>();
    const toldOf = {
      prefetch: 1,
      refused: async ({ id }: IncomingMessage, { reason }: BerthError) => told(id, reason),
    };
    const told = (id: string, reason: string) => {
      refused.put([id, reason]);
      return POSTPONE;
    };
    const ages: number[] = [];
    const isNotNow = async ({ postponedForMs }: IncomingMessage) => {
      ages.push(postponedForMs);
      return POSTPONE;
    };
    for (let n = 0; n < 2; n++) await (await world().open({ maxPostponedMs: 200 })).consume(queue, isNotNow, toldOf);
    const bus = await world().open();
    await bus.cast(queue, aMessage('never'), { id: 'never' });
    const dead = await takeDeadLetter(bus, queue.name);
    expect(dead).toMatchObject({ id: 'never', headers: { 'berth-error-reason': 'postponed_too_long' } });
    expect(refused.items).toEqual([['never', 'postponed_too_long']]);
    expect(ages[0]).toBe(0);
    expect(ages.toSorted((a, b) => a - b)).toEqual(ages);
    // It is refused after the handler, a moment older than the handler saw it.
    expect(ages.at(-1)).toBeGreaterThan(100);
    expect(Math.max(...ages.slice(0, -1))).toBeLessThan(200);
  });

  it.each([{}, { batching: true }])('lets a postponed message expire when it would have (%j)', async (rest) => {
    const bus = await world().open();
    const queue = aQueue('host', rest);
    const release = gate();
    await bus.declare(queue);
    const expiring = bus.cast(queue, aMessage('expires'), { id: 'expires', expiresInMs: 2_000 });
    await Promise.all([expiring, bus.cast(queue, aMessage('blocks'), { id: 'blocks' })]);
    const take = async ({ id }: IncomingMessage) => {
      if (id === 'expires') return POSTPONE;
      await release.opened;
      return ACK;
    };
    await bus.consume(queue, take, { prefetch: 1 });
    while ((await bus.depth(queue.name)) > 0);
    const dead = await takeDeadLetter(bus, queue.name);
    expect(dead).toMatchObject({ id: 'expires', headers: { 'berth-error-reason': 'expired' } });
    release.open();
  });

  it.each(KINDS)('moves a dropped message of a %s queue to the dead letters, with the reason', async (kind) => {
    const bus = await world().open();
    const queue = aQueue(kind);
    await bus.consume(queue, async () =>
      drop(new BerthError('invalid_argument', 'bad_flavor', 'vcpus must be 1 or more')),
    );
    await bus.cast(queue.name, aMessage('rubbish', { sender: 'somebody' }), { id: 'bad-1', correlationId: 'c' });
    const dead = await takeDeadLetter(bus, queue.name);
    expect(textOf(dead.body)).toBe('rubbish');
    expect(dead).toMatchObject({
      type: aMessage('').type,
      id: 'bad-1',
      sender: 'somebody',
      correlationId: 'c',
      headers: {
        'berth-error-code': 'invalid_argument',
        'berth-error-reason': 'bad_flavor',
        'berth-error-message': 'vcpus must be 1 or more',
        'berth-queue': queue.name,
      },
    });
    expect(await bus.depth(queue.name)).toBe(0);
  });

  it('requeues a message whose handler throws, once; the second throw drops it', async () => {
    const bus = await world().open();
    const queue = aQueue('host');
    let throws = 0;
    await bus.consume(queue, async () => {
      throw new BerthError('internal', 'broken', `throw ${++throws}`);
    });
    await bus.cast(queue.name, aMessage('x'));
    const dead = await takeDeadLetter(bus, queue.name);
    expect(dead.headers).toMatchObject({ 'berth-error-reason': 'broken', 'berth-error-message': 'throw 2' });
    expect(throws).toBe(2);
  });

  it('drops a message without a type, unseen by the handler', async () => {
    const bus = await world().open();
    const queue = aQueue('work');
    const seen = new Inbox<IncomingMessage>();
    await bus.consume(queue, async (message) => {
      seen.put(message);
      return ACK;
    });
    await bus.cast(queue.name, aMessage('x', { type: '' }));
    const dead = await takeDeadLetter(bus, queue.name);
    expect(dead.headers).toMatchObject({ 'berth-error-reason': 'missing_type' });
    expect(seen.items).toEqual([]);
  });

  it('drops a call that comes as a cast, so that nobody waits for its answer', async () => {
    const bus = await world().open();
    const queue = aQueue('transient');
    await bus.serve(queue, { [aMessage('').type]: async ({ body }) => body });
    await bus.cast(queue.name, aMessage('x'));
    const dead = await takeDeadLetter(bus, queue.name);
    expect(dead.headers).toMatchObject({ 'berth-error-reason': 'missing_reply_to' });
  });

  it('drops a message of a work queue that was requeued up to its delivery limit', async () => {
    const bus = await world().open();
    const queue = aQueue('work', { deliveryLimit: 4 });
    let deliveries = 0;
    await bus.consume(queue, async () => {
      deliveries++;
      return REQUEUE;
    });
    await bus.cast(queue.name, aMessage('poison'));
    const dead = await takeDeadLetter(bus, queue.name);
    expect(dead.headers).toMatchObject({
      'berth-error-code': 'resource_exhausted',
      'berth-error-reason': 'delivery_limit',
    });
    expect(deliveries).toBe(4);
  });

  it('lets whoever reads the dead letters ack, requeue and drop them for good', async () => {
    const bus = await world().open();
    const queue = aQueue('host');
    await bus.consume(queue, async () => drop(new BerthError('invalid_argument', 'no', 'no')));
    await bus.cast(queue.name, aMessage('x'));
    const seen = new Inbox<boolean>();
    const reader = await bus.consume({ name: 'dead-letters', kind: 'host' }, async ({ headers, redelivered }) => {
      if (headers?.['berth-queue'] !== queue.name) return ACK;
      seen.put(redelivered);
      return redelivered ? drop(new BerthError('internal', 'gone', 'gone')) : REQUEUE;
    });
    await seen.has(2);
    await reader.cancel();
    expect(seen.items).toEqual([false, true]);
  });
}
