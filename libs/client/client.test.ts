import { MemoryBroker } from '#libs/bus/memory/broker';
import { openBus } from '#libs/bus/open';
import { ACK, type IncomingMessage } from '#libs/bus/port';
import { answer } from '#libs/bus/typed-calls';
import { buildRefusedCodec, buildRequestCodec } from '#libs/contracts/conductor';
import { type InstanceView, instanceEventCodec, listInstancesMethod } from '#libs/contracts/instance';
import { BUILD_REQUESTS, instanceTopic, RPC_CONDUCTOR, refusalTopic } from '#libs/contracts/queues';
import { BerthError } from '#libs/domain/errors';
import type { InstanceState } from '#libs/domain/instance';
import { seededRandom } from '#libs/domain/random';
import { requestSpec } from '#libs/domain/request-spec';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { type FakeClock, fakeClock } from '#libs/testing/fake-clock';
import { Client } from './client';

const UUID = '6f1f36c4-52f9-4a3c-9f6f-0d2f0a4b7a11';
const SPEC = { projectId: 'p', userId: 'u', resources: { VCPU: 1 } };

function viewOf(state: InstanceState, uuid = UUID): InstanceView {
  const names = { uuid, requestId: UUID, name: 'web', projectId: 'p', userId: 'u' };
  const times = { createdAtMs: 0, updatedAtMs: 0, version: 1 };
  const spec = requestSpec({ VCPU: 1 }, { projectId: 'p', userId: 'u' });
  return { ...names, ...times, state, host: 'host-1', attempts: [], fault: undefined, requestSpec: spec };
}

async function open(retryForMs = 0) {
  const clock = fakeClock();
  const random = seededRandom(1);
  const broker = new MemoryBroker(clock, silentLog);
  const connect = () => {
    const around = { clock, random, log: silentLog, metrics: createMetrics({}) };
    return openBus({ busUrl: 'memory:' }, around, broker);
  };
  const [bus, service] = [await connect(), await connect()];
  await service.declare(BUILD_REQUESTS);
  const client = new Client(bus, { clock, random, timeoutMs: 1_000, retryForMs });
  const tell = (state: InstanceState, uuid: string, version: number) => {
    const { uuid: instanceUuid, updatedAtMs: atMs, ...rest } = viewOf(state, uuid);
    const body = instanceEventCodec.encode({ ...rest, instanceUuid, atMs, version });
    return service.publish(instanceTopic(state, 'p', uuid), { type: instanceEventCodec.type, body });
  };
  const list = async (...instances: InstanceView[]) => {
    let asked = () => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const handlers = answer(listInstancesMethod, async () => {
      asked();
      return { instances };
    });
    return { isAsked, served: await service.serve(RPC_CONDUCTOR, handlers) };
  };
  return { clock, bus, service, client, tell, list };
}

async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** Advances the clock until the promise settles. */
async function ended<T>(promise: Promise<T>, clock: FakeClock): Promise<T> {
  const has = { ended: false };
  const note = () => {
    has.ended = true;
  };
  promise.then(note, note);
  while (!has.ended) await clock.advance(50);
  return promise;
}

it('builds, and tells how each instance ended', async () => {
  const { client, service, tell } = await open();
  await service.consume(BUILD_REQUESTS, async ({ body }) => {
    const { instanceUuids, count, name } = buildRequestCodec.decode(body);
    expect({ count, name }).toEqual({ count: 2, name: 'web' });
    for (const [i, uuid] of instanceUuids.entries()) await tell(i === 0 ? 'active' : 'error', uuid, 2);
    return ACK;
  });
  const events = await client.buildAndWait({ spec: SPEC, count: 2, name: 'web' });
  expect(events.map(({ state }) => state)).toEqual(['active', 'error']);
  await client.close();
});

it('tells why a request was refused, and waits no longer', async () => {
  const { client, service, clock } = await open();
  await service.consume(BUILD_REQUESTS, async ({ body }) => {
    const { requestId } = buildRequestCodec.decode(body);
    const error = new BerthError('resource_exhausted', 'outbox_full', 'not now');
    const refused = buildRefusedCodec.encode({ requestId, error });
    await service.publish(refusalTopic(''), { type: buildRefusedCodec.type, body: refused });
    return ACK;
  });
  const waiting = client.buildAndWait({ spec: SPEC }, { timeoutMs: 3_600_000 });
  expect(await errorOf(waiting)).toMatchObject({ reason: 'outbox_full' });
  await client.close();
  expect(clock.pending).toBe(0);
});

it('publishes nothing that Berth would refuse as malformed', async () => {
  const { client, bus } = await open();
  const malformed = client.buildAndWait({ spec: { ...SPEC, resources: { VCPU: -1 } } });
  expect(await errorOf(malformed)).toMatchObject({ code: 'invalid_argument', reason: 'bad_amount' });
  expect(await bus.depth(BUILD_REQUESTS.name)).toBe(0);
});

it('does not say that nothing was done when a try before had no answer', async () => {
  const { client, service, clock } = await open(3_000);
  let tries = 0;
  const failing = answer(listInstancesMethod, async () => {
    if (tries++ === 0) throw new BerthError('deadline_exceeded', 'connection_lost', 'the answer is lost');
    throw new BerthError('unavailable', 'not_connected', 'the broker is unavailable; nothing was done');
  });
  await service.serve(RPC_CONDUCTOR, failing);
  expect(await ended(errorOf(client.instances()), clock)).toMatchObject({ reason: 'connection_lost' });
  expect(tries).toBeGreaterThan(1);
});

it('sends a request again, with the same id, while nobody serves it, and no longer than it was told to', async () => {
  const { client, list, clock } = await open(10_000);
  const found = client.instances();
  await clock.advance(3_000);
  const { served } = await list(viewOf('active'));
  expect(await ended(found, clock)).toMatchObject([{ uuid: UUID }]);
  await served.cancel();
  const startedMs = clock.elapsed();
  expect(await ended(errorOf(client.instances()), clock)).toMatchObject({ code: 'deadline_exceeded' });
  expect(clock.elapsed() - startedMs).toBeGreaterThanOrEqual(10_000);
  expect(clock.elapsed() - startedMs).toBeLessThan(15_000);
});

it('asks once only when told so', async () => {
  const { client, clock } = await open(0);
  expect(await ended(errorOf(client.instances()), clock)).toMatchObject({ code: 'unavailable' });
});

it('waits for a state that is reached later, or was reached before', async () => {
  const { client, list, tell } = await open();
  const { isAsked } = await list(viewOf('building'));
  const later = client.wait(UUID, ['active']);
  await isAsked;
  await tell('active', UUID, 2);
  expect(await later).toMatchObject({ state: 'active' });
  expect(await client.wait(UUID, ['building'])).toMatchObject({ instanceUuid: UUID, state: 'building' });
});

it('does not wait for an instance that is not there', async () => {
  const { client, list } = await open();
  await list();
  expect(await errorOf(client.wait(UUID))).toMatchObject({ code: 'not_found', reason: 'no_such_instance' });
});

it('waits for what it has asked for though no conductor has it yet, as long as it asks again', async () => {
  const { client, list, clock } = await open(10_000);
  const none = await list();
  await client.build({ spec: SPEC, instanceUuids: [UUID] });
  const active = client.wait(UUID);
  await none.isAsked;
  await none.served.cancel();
  await list(viewOf('active'));
  expect(await ended(active, clock)).toMatchObject({ instanceUuid: UUID, state: 'active' });
});

it('ends to wait for what it has asked for when that is refused', async () => {
  const { client, list, service } = await open(10_000);
  const { isAsked } = await list();
  const { requestId } = await client.build({ spec: SPEC, instanceUuids: [UUID] });
  const refused = errorOf(client.wait(UUID));
  await isAsked;
  const error = new BerthError('invalid_argument', 'bad_amount', 'no');
  await service.publish(refusalTopic('p'), {
    type: buildRefusedCodec.type,
    body: buildRefusedCodec.encode({ requestId, error }),
  });
  expect(await refused).toMatchObject({ reason: 'bad_amount' });
});

it('does not wait for what it has asked for when no conductor has it for so long', async () => {
  const { client, list, clock } = await open(10_000);
  await list();
  await client.build({ spec: SPEC, instanceUuids: [UUID] });
  const startedMs = clock.elapsed();
  expect(await ended(errorOf(client.wait(UUID)), clock)).toMatchObject({ reason: 'no_such_instance' });
  expect(clock.elapsed() - startedMs).toBeGreaterThanOrEqual(10_000);
});

it('gives events in order, each version once, until it is closed', async () => {
  const { client, tell } = await open();
  const heard: InstanceState[] = [];
  const told = async () => {
    for (const [i, state] of (['scheduling', 'building', 'scheduling', 'active', 'active'] as const).entries()) {
      await tell(state, UUID, [1, 2, 1, 3, 3][i] ?? 0);
    }
  };
  for await (const { state } of client.events({ onListening: () => void told() })) {
    heard.push(state);
    if (state === 'active') await client.close();
  }
  expect(heard).toEqual(['scheduling', 'building', 'active']);
});

it('keeps no more bytes of events than it may for a reader who does not read', async () => {
  const { client, tell } = await open();
  let told = Promise.resolve();
  const tellMany = async () => {
    for (let version = 1; version <= 500; version++) await tell('building', UUID, version);
  };
  const heard: number[] = [];
  const listening = (async () => {
    for await (const { version } of client.events({
      maxWaitingBytes: 10_000,
      onListening: () => void (told = tellMany()),
    })) {
      heard.push(version);
      await told;
    }
  })();
  expect(await errorOf(listening)).toMatchObject({ reason: 'listener_too_slow' });
  expect(heard.length).toBeLessThan(100);
});

it('ends every wait when it is closed', async () => {
  const { client, service } = await open();
  await service.consume(BUILD_REQUESTS, async (_message: IncomingMessage) => ACK);
  const waiting = errorOf(client.buildAndWait({ spec: SPEC }));
  await new Promise((resolve) => setImmediate(resolve));
  await client.close();
  expect(await waiting).toMatchObject({ code: 'aborted', reason: 'interrupted' });
});

it('builds when a broker that was built anew has its queues again', async () => {
  const { bus, service, client, clock } = await open(30_000);
  await service.remove(BUILD_REQUESTS.name);
  const building = client.build({ spec: SPEC });
  await clock.advance(1_000);
  await service.declare(BUILD_REQUESTS);
  await clock.advance(10_000);
  expect((await building).instanceUuids).toHaveLength(1);
  expect(await bus.depth(BUILD_REQUESTS.name)).toBe(1);
});
