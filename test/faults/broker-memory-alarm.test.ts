import { setTimeout as pass } from 'node:timers/promises';
import { openBus } from '#libs/bus/open';
import { ACK, type Bus } from '#libs/bus/port';
import { BerthError } from '#libs/domain/errors';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { aMessage, aQueue, failureOf } from '#libs/testing/bus/bus-world';
import { gate, Inbox } from '#libs/testing/bus/inbox';
import { type RabbitmqServer, startRabbitmq } from '#libs/testing/servers/servers';
import { ALARMS, queueInfo } from './fleet/broker-control';

const COUNT = 300;

let broker: RabbitmqServer;
let bus: Bus;

beforeAll(async () => {
  broker = await startRabbitmq();
  const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  bus = await openBus({ busUrl: broker.url, confirmTimeoutMs: 2_000 }, around);
});
afterAll(async () => {
  await broker?.eval(ALARMS.memory.clear);
  await bus?.close();
  await broker?.stop();
});

it('goes on consuming and acking, in a process that publishes, too, while the broker is short of memory', async () => {
  const queue = aQueue('work');
  const begin = gate();
  const done = new Inbox<string>();
  await bus.consume(
    queue,
    async ({ id }) => {
      await begin.opened;
      done.put(id);
      return ACK;
    },
    { prefetch: 10 },
  );
  await Promise.all(Array.from({ length: COUNT }, (_, n) => bus.cast(queue, aMessage(String(n)))));

  await broker.eval(ALARMS.memory.raise);
  // The broker stops reading from a connection at its first publish under the alarm, which it raises in its own time.
  let sent = COUNT;
  const outcome = () =>
    bus.cast(queue, aMessage(String(sent))).then(
      () => 'taken',
      (thrown: unknown) => BerthError.from(thrown).code,
    );
  let last = await outcome();
  for (; last === 'taken'; last = await outcome()) sent++;
  expect(last).toBe('unavailable');
  expect(await failureOf(bus.cast(queue, aMessage('and more')))).toMatchObject({ reason: 'broker_blocked' });
  expect(bus.isConnected()).toBe(false);
  begin.open();
  await done.has(COUNT);
  await acked(queue.name);

  await broker.eval(ALARMS.memory.clear);
  await done.has(sent + 1);
  await until(() => bus.isConnected());
  await bus.cast(queue, aMessage('after it'));
  await done.has(sent + 2);
});

/** Waits until the broker has seen the acks of all that it gave out. */
async function acked(queue: string): Promise<void> {
  await until(async () => (await broker.eval(queueInfo(queue, 'messages'))) === '0');
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await pass(10);
}
