import type { Client } from '#libs/client/client';
import { connect } from '#libs/client/connect';
import { NO_ADMISSION } from '#libs/domain/queueing/admission';
import { requestSpec } from '#libs/domain/request-spec';
import { systemClock } from '#libs/runtime/system';
import { TestFleet } from '../fleet/test-fleet';

/* Ten hosts of 4 VCPU on real servers: three of each are held for a project, one after the other by two schedulers. */

const clock = systemClock();
const NAME = 'night';
const SCIENCE = { projectId: 'science', userId: 'user-1' };
const OTHERS = { projectId: 'others', userId: 'user-2' };
const NOTICE_MS = 30_000;

let fleet: TestFleet;
let client: Client;

beforeAll(async () => {
  fleet = await TestFleet.start({
    BERTH_AGENT_FAKE_FAILURE_RATE: '0',
    BERTH_AGENT_INVENTORY: 'VCPU=4,MEMORY_MB=65536,DISK_GB=1000',
    BERTH_CONDUCTOR_PENDING_INTERVAL_MS: '200',
    BERTH_SCHEDULER_BACKFILL_MARGIN_MS: '1000',
    BERTH_LOG_LEVEL: 'info',
  });
  client = await connect({ url: fleet.credentials.brokerUrl('operator', fleet.brokerPort) });
});
afterAll(async () => {
  await client?.close();
  await fleet?.stop();
});

const reserved = async () => (await client.reservations(NAME))[0];

/** Builds, each a request of its own, all at once; the states that they come to. */
async function build(vcpus: number, count: number, timeLimitMs = 0) {
  const one = { spec: requestSpec({ VCPU: vcpus }, OTHERS), admission: { ...NO_ADMISSION, timeLimitMs } };
  const built = await Promise.all(Array.from({ length: count }, () => client.buildAndWait(one)));
  return built.flat();
}

it('holds capacity until its window begins, lets what ends in time have it before, and says when it can not', async () => {
  const fromMs = clock.now() + NOTICE_MS;
  const spec = requestSpec({ VCPU: 3 }, SCIENCE);
  const window = { fromMs, untilMs: fromMs + 600_000 };
  const created = await client.createReservation({ name: NAME, ...window, count: 10, spec });
  expect(created).toMatchObject({ state: 'held', reason: '' });
  expect(created.hosts).toHaveLength(10);
  await expect(client.createReservation({ name: 'more', ...window, count: 1, spec })).rejects.toMatchObject({
    reason: 'no_room_to_reserve',
  });

  // Both schedulers at once: ten VCPU are beside it.
  const lasting = await build(1, 20);
  expect(lasting.filter(({ state }) => state === 'active')).toHaveLength(10);
  const short = await build(3, 5, 2_000);
  expect(short.map(({ state }) => state)).toEqual(Array(5).fill('active'));
  expect((await build(3, 1, NOTICE_MS)).map(({ state }) => state)).toEqual(['error']);

  const waiting = await client.build({
    spec: { ...spec, reservation: NAME },
    count: 10,
    admission: { ...NO_ADMISSION, waitForCapacityMs: 120_000 },
  });
  await fleet.kill('agent-b');
  await fleet.eventually('the reservation is at risk before it begins', async () => {
    const { state, reason = '', hosts = [] } = (await reserved()) ?? {};
    const isLeft = hosts.every(({ host }) => host.startsWith('agent-a'));
    return (state === 'at_risk' && reason.includes('is down') && isLeft) || reason || 'held';
  });
  fleet.launch('agent-b');
  await fleet.eventually('each unit has a host again', async () => (await reserved())?.state === 'held');

  await fleet.eventually('all that waited for the window run in it', async () => {
    const states = (await fleet.instances.get(waiting.instanceUuids)).map(({ state }) => state);
    return states.every((state) => state === 'active') || states.join();
  });
  expect(clock.now()).toBeGreaterThan(fromMs);
  expect((await reserved())?.hosts.every(({ units, instances }) => units === 1 && instances === 1)).toBe(true);
  const [, ...more] = await Promise.all([
    client.deleteReservation(NAME),
    client.buildAndWait({ spec: { ...spec, reservation: 'none' } }),
  ]);
  expect(more.flat().map(({ fault }) => fault?.message)).toEqual([expect.stringContaining('no_such_reservation')]);
  const uuids = [...lasting.filter(({ state }) => state === 'active'), ...short].map(
    ({ instanceUuid }) => instanceUuid,
  );
  expect(await fleet.problems([...uuids, ...waiting.instanceUuids])).toEqual([]);
});
