import { sleep } from '../../domain/clock';
import { BerthError } from '../../domain/errors';
import { randomInt, seededRandom } from '../../domain/random';
import { silentLog } from '../../runtime/log';
import { createMetrics } from '../../runtime/metrics';
import { aMessage, aQueue, failureOf, takeDeadLetter, textOf } from '../../testing/bus/bus-world';
import { Inbox } from '../../testing/bus/inbox';
import { type FakeClock, fakeClock } from '../../testing/fake-clock';
import { openBus } from '../open';
import { ACK, type Bus, drop, REQUEUE } from '../port';
import { MemoryBroker } from './broker';

const TYPE = aMessage('').type;

function openOn(clock: FakeClock, broker: MemoryBroker, seed = 1): Promise<Bus> {
  const around = { clock, random: seededRandom(seed), log: silentLog, metrics: createMetrics({}) };
  return openBus({ busUrl: 'memory:' }, around, broker);
}

it('does the same in the same order from the same seed', async () => {
  const run = async (seed: number): Promise<readonly string[]> => {
    const clock = fakeClock(0);
    const broker = new MemoryBroker(clock, silentLog);
    const random = seededRandom(seed);
    const story: string[] = [];
    const queue = aQueue('work', { name: 'work', deliveryLimit: 3 });
    for (const name of ['a', 'b', 'c']) {
      const bus = await openOn(clock, broker, seed);
      const handler = async ({ body, redelivered }: { body: Uint8Array; redelivered: boolean }) => {
        story.push(`${clock.now()} ${name} takes ${textOf(body)}${redelivered ? ' again' : ''}`);
        await sleep(clock, randomInt(random, 20));
        return random.next() < 0.3 ? REQUEUE : ACK;
      };
      await bus.consume(queue, handler, { prefetch: 1 + randomInt(random, 3) });
    }
    const producer = await openOn(clock, broker, seed);
    for (let n = 0; n < 100; n++)
      clock.after(randomInt(random, 500), () => void producer.cast('work', aMessage(String(n))));
    await clock.advance(10_000);
    return story;
  };
  const story = await run(7);
  expect(story.length).toBeGreaterThan(100);
  expect(await run(7)).toEqual(story);
  expect(await run(8)).not.toEqual(story);
});

it('lets timers have their turn while services talk to each other without end', async () => {
  const clock = fakeClock(0);
  const bus = await openOn(clock, new MemoryBroker(clock, silentLog));
  const queue = aQueue('transient');
  let isOver = false;
  let rounds = 0;
  await bus.consume(queue, async () => {
    rounds++;
    if (!isOver) await bus.cast(queue.name, aMessage('next'));
    return ACK;
  });
  clock.after(0, () => {
    isOver = true;
  });
  await bus.cast(queue.name, aMessage('first'));
  await clock.advance(1);
  expect(rounds).toBeGreaterThan(1);
  expect(isOver).toBe(true);
});

it('lets calls time out and requests expire by its clock alone', async () => {
  const clock = fakeClock();
  const bus = await openOn(clock, new MemoryBroker(clock, silentLog));
  const queue = aQueue('transient');
  await bus.declare(queue);
  const failure = failureOf(bus.call(queue.name, aMessage('x'), { timeoutMs: 3_600_000 }));
  await clock.advance(3_599_999);
  expect(await bus.depth(queue.name)).toBe(1);
  await clock.advance(1);
  expect(await failure).toEqual({ code: 'deadline_exceeded', reason: 'no_answer' });
  expect(await bus.depth(queue.name)).toBe(0);
});

it('buries a request that expires in a queue of work', async () => {
  const clock = fakeClock();
  const bus = await openOn(clock, new MemoryBroker(clock, silentLog));
  const queue = aQueue('work');
  await bus.declare(queue);
  const failure = failureOf(bus.call(queue.name, aMessage('x'), { timeoutMs: 10 }));
  await clock.advance(10);
  await failure;
  expect(await bus.depth(queue.name)).toBe(0);
  const dead = await takeDeadLetter(bus, queue.name);
  expect(dead.headers).toMatchObject({ 'berth-error-code': 'deadline_exceeded', 'berth-error-reason': 'expired' });
});

it('keeps the latest dead letters when there are too many', async () => {
  const clock = fakeClock();
  const broker = new MemoryBroker(clock, silentLog);
  const bus = await openOn(clock, broker);
  for (let n = 0; n < 100_010; n++) void bus.cast('dead-letters', aMessage(String(n)));
  expect(await bus.depth('dead-letters')).toBe(100_000);
  const seen = new Inbox<string>();
  const reader = { name: 'dead-letters', kind: 'host' } as const;
  await bus.consume(reader, async ({ body }) => (seen.put(textOf(body)), ACK), { prefetch: 1 });
  expect((await seen.has(1))[0]).toBe('10');
});

it('aborts the signal of a handler at the deadline of its call, and not before', async () => {
  const clock = fakeClock();
  const bus = await openOn(clock, new MemoryBroker(clock, silentLog));
  const queue = aQueue('transient');
  const signals = new Inbox<AbortSignal>();
  await bus.serve(queue, {
    [TYPE]: async ({ signal, body }) => {
      signals.put(signal);
      await sleep(clock, 1_000, signal);
      return body;
    },
  });
  const failure = failureOf(bus.call(queue.name, aMessage('x'), { timeoutMs: 100 }));
  const [signal] = await signals.has(1);
  await clock.advance(99);
  expect(signal?.aborted).toBe(false);
  await clock.advance(1);
  expect(signal?.aborted).toBe(true);
  expect(await failure).toMatchObject({ code: 'deadline_exceeded' });
  expect(clock.pending).toBe(0);
});

it('keeps no more dead letters than their bytes have room for, the newest', async () => {
  const clock = fakeClock(0);
  const bus = await openOn(clock, new MemoryBroker(clock, silentLog));
  const queue = aQueue('work', { name: 'work' });
  await bus.consume(queue, async () => drop(new BerthError('invalid_argument', 'no', 'no')));
  const body = Buffer.alloc(4_194_304);
  for (let n = 0; n < 40; n++) await bus.cast('work', { type: 'x', body }, { id: String(n) });
  await clock.advance(100);
  expect(await bus.depth('dead-letters')).toBe(32);
});
