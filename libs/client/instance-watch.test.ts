import { MemoryBroker } from '#libs/bus/memory/broker';
import { openBus } from '#libs/bus/open';
import { buildRefusedCodec } from '#libs/contracts/conductor';
import { type InstanceEvent, type InstanceView, instanceEventCodec } from '#libs/contracts/instance';
import { instanceTopic, refusalTopic } from '#libs/contracts/queues';
import { BerthError } from '#libs/domain/errors';
import type { InstanceState } from '#libs/domain/instance';
import { seededRandom } from '#libs/domain/random';
import { requestSpec } from '#libs/domain/request-spec';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { fakeClock } from '#libs/testing/fake-clock';
import { watchInstances } from './instance-watch';

const UUID = '6f1f36c4-52f9-4a3c-9f6f-0d2f0a4b7a11';

function eventOf(state: InstanceState, version = 1): InstanceEvent {
  return {
    instanceUuid: UUID,
    requestId: UUID,
    projectId: 'p',
    state,
    host: 'host-1',
    atMs: 1,
    version,
    fault: undefined,
    attempts: [],
    name: 'web',
  };
}

async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

async function startWatch() {
  const clock = fakeClock();
  const around = { clock, random: seededRandom(1), log: silentLog, metrics: createMetrics({}) };
  const bus = await openBus({ busUrl: 'memory:' }, around, new MemoryBroker(clock, silentLog));
  const stored: InstanceView[] = [];
  const watch = await watchInstances(bus, { clock }, async () => stored);
  const tell = (state: InstanceState, version?: number) =>
    bus.publish(instanceTopic(state, 'p', UUID), {
      type: instanceEventCodec.type,
      body: instanceEventCodec.encode(eventOf(state, version)),
    });
  return { clock, bus, watch, stored, tell };
}

it('resolves with the event that brings the instance where it was to go', async () => {
  const { watch, tell } = await startWatch();
  const settled = watch.until(UUID, ['active', 'error']);
  await tell('building');
  await tell('active');
  expect(await settled).toMatchObject({ state: 'active', host: 'host-1' });
  await watch.close();
});

it('takes no old event that comes again for news', async () => {
  const { watch, tell } = await startWatch();
  await tell('active', 3);
  await tell('deleting', 4);
  const settled = watch.until(UUID, ['active', 'deleted']);
  await tell('active', 3);
  await tell('deleted', 5);
  expect(await settled).toMatchObject({ state: 'deleted' });
  await watch.close();
});

it('asks for an instance whose event was missed', async () => {
  const { clock, watch, stored } = await startWatch();
  const { instanceUuid, atMs, ...event } = eventOf('error');
  const spec = requestSpec({ VCPU: 1 }, { projectId: 'p', userId: 'u' });
  stored.push({ ...event, uuid: instanceUuid, userId: 'u', createdAtMs: 0, updatedAtMs: atMs, requestSpec: spec });
  const settled = watch.until(UUID, ['active', 'error']);
  await clock.advance(4_000);
  expect(await settled).toMatchObject({ instanceUuid: UUID, state: 'error' });
  await watch.close();
});

it('tells everybody who waits for the same instance', async () => {
  const { watch, tell } = await startWatch();
  const all = Promise.all([watch.until(UUID, ['active']), watch.until(UUID, ['active', 'error'])]);
  await tell('active');
  expect(await all).toMatchObject([{ state: 'active' }, { state: 'active' }]);
  await watch.close();
});

it('gives up at the deadline, and leaves no timer behind when it did not come to that', async () => {
  const { clock, watch, tell } = await startWatch();
  const late = errorOf(watch.until(UUID, ['deleted'], { timeoutMs: 5_000 }));
  await clock.advance(20_000);
  expect(await late).toMatchObject({ code: 'deadline_exceeded', reason: 'not_settled' });
  const settled = watch.until(UUID, ['active'], { timeoutMs: 3_600_000 });
  await tell('active');
  await settled;
  await watch.close();
  expect(clock.pending).toBe(0);
});

it('tells who waits that the request was refused', async () => {
  const { bus, watch } = await startWatch();
  const refused = errorOf(watch.until(UUID, ['active'], { requestId: UUID }));
  const error = new BerthError('resource_exhausted', 'quota', 'no more');
  const body = buildRefusedCodec.encode({ requestId: UUID, error });
  await bus.publish(refusalTopic(''), { type: buildRefusedCodec.type, body });
  expect(await refused).toMatchObject({ code: 'resource_exhausted', reason: 'quota' });
  await watch.close();
});

it('tells those who still wait that it closes', async () => {
  const { watch } = await startWatch();
  const interrupted = errorOf(watch.until(UUID, ['active']));
  await watch.close();
  expect(await interrupted).toMatchObject({ reason: 'interrupted' });
});
