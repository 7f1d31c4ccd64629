import { DEAD_LETTER_QUEUE } from '#libs/bus/handling/dead-letter';
import { MemoryBroker } from '#libs/bus/memory/broker';
import { openBus } from '#libs/bus/open';
import { ACK, drop } from '#libs/bus/port';
import { BUILD_REQUESTS } from '#libs/contracts/queues';
import { BerthError } from '#libs/domain/errors';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { type DeadLetter, visitDeadLetters } from './dead-letters';

async function busWithTwoDeadLetters() {
  const clock = systemClock();
  const around = { clock, random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const bus = await openBus({ busUrl: 'memory:' }, around, new MemoryBroker(clock, silentLog));
  const refusing = await bus.consume(BUILD_REQUESTS, async ({ type }) => {
    return drop(new BerthError('invalid_argument', type, `no ${type} please`));
  });
  for (const type of ['rubbish', 'nonsense']) await bus.cast(BUILD_REQUESTS, { type, body: Uint8Array.of(1, 2) });
  await refusing.cancel();
  return { clock, bus };
}

it('shows each dead letter once, with its queue and reason, and leaves it there', async () => {
  const { clock, bus } = await busWithTwoDeadLetters();
  const letters: DeadLetter[] = [];
  await visitDeadLetters(bus, clock, 10, (letter) => {
    letters.push(letter);
    return 'leave';
  });
  expect(letters).toMatchObject([
    { type: 'rubbish', queue: 'build.requests', code: 'invalid_argument', reason: 'rubbish', bytes: 2 },
    { type: 'nonsense', queue: 'build.requests', message: 'no nonsense please' },
  ]);
  expect(await bus.depth(DEAD_LETTER_QUEUE.name)).toBe(2);
});

it('sends those that are meant to their queue again, and keeps the others', async () => {
  const { clock, bus } = await busWithTwoDeadLetters();
  await visitDeadLetters(bus, clock, 10, ({ reason }) => (reason === 'nonsense' ? 'requeue' : 'leave'));
  expect(await bus.depth(DEAD_LETTER_QUEUE.name)).toBe(1);
  const got = new Promise<string>((resolve) => {
    void bus.consume(BUILD_REQUESTS, async ({ type }) => {
      resolve(type);
      return ACK;
    });
  });
  expect(await got).toBe('nonsense');
});

it('discards those that are meant, and keeps the others', async () => {
  const { clock, bus } = await busWithTwoDeadLetters();
  await visitDeadLetters(bus, clock, 10, ({ reason }) => (reason === 'rubbish' ? 'discard' : 'leave'));
  const left: string[] = [];
  await visitDeadLetters(bus, clock, 10, ({ reason }) => {
    left.push(reason);
    return 'leave';
  });
  expect(left).toEqual(['nonsense']);
});
