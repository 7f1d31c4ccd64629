import { Client } from '#libs/client/client';
import { type Admission, NO_ADMISSION } from '#libs/domain/queueing/admission';
import { RESERVATION_CONSUMER } from '#libs/domain/queueing/place-lease';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { contentsOf } from '#libs/testing/placement/placement';
import { runLine } from '../../services/cli/testing/run-line';
import { eventually, TestCell } from './test-cell';

/* Alternates that are leased or reserved while a build lasts, and what a cohort takes back: all of Berth, on real servers. */

let cell: TestCell;
let client: Client;
beforeAll(async () => {
  cell = await TestCell.start();
  await cell.launch('conductor', { BERTH_CONDUCTOR_MAX_PRIORITY: '100' });
  for (const host of ['h1', 'h2']) {
    await cell.launch('compute-agent', {
      BERTH_AGENT_HOST: host,
      BERTH_AGENT_INVENTORY: 'VCPU=2,MEMORY_MB=4096,DISK_GB=10',
      BERTH_AGENT_FAKE_LATENCY_MS: '3000',
      BERTH_AGENT_FAKE_FAILURE_RATE: '0',
    });
  }
  client = new Client(cell.bus, { clock: systemClock(), random: systemRandom, timeoutMs: 20_000, retryForMs: 20_000 });
  await eventually('both hosts report', async () => (await client.hosts()).length === 2);
});
afterAll(() => cell.stop());

const build = (admission: Partial<Admission>, projectId = 'demo') =>
  client.build({
    spec: { projectId, userId: 'u', resources: { VCPU: 2 } },
    admission: { ...NO_ADMISSION, ...admission },
  });
// Undefined until its request is taken.
const stateOf = async (uuid = '') => (await client.instance(uuid).catch(() => undefined))?.state;
const isIn = (uuid: string | undefined, state: string) =>
  eventually(`${uuid} is ${state}`, async () => (await stateOf(uuid)) === state, 40_000);
const reservations = async () => {
  const { consumers } = await contentsOf(cell.store);
  return consumers.filter(({ consumerType }) => consumerType === RESERVATION_CONSUMER).length;
};

async function terminate(uuid = ''): Promise<void> {
  await client.terminate(uuid);
  await isIn(uuid, 'deleted');
}

it('reserves an alternate until the instance is ACTIVE: others have to wait', async () => {
  const first = await build({ alternatesHeld: 'reserved' });
  await eventually('it is reserved', async () => (await reservations()) === 1);
  const second = await build({});
  await isIn(second.instanceUuids[0], 'error');
  expect((await client.instance(second.instanceUuids[0] ?? '')).fault).toMatchObject({ reason: 'no_valid_host' });
  await isIn(first.instanceUuids[0], 'active');
  await eventually('nothing is reserved', async () => (await reservations()) === 0);
  const third = await build({});
  await isIn(third.instanceUuids[0], 'active');
  for (const { instanceUuids } of [first, third]) await terminate(instanceUuids[0]);
});

it('leases an alternate, which takes nobody’s room, until the instance is ACTIVE', async () => {
  const leases = async () => (await contentsOf(cell.store)).leases.length;
  const first = await build({ alternatesHeld: 'leased' });
  await eventually('it is leased', async () => (await leases()) === 1);
  const second = await build({});
  await isIn(first.instanceUuids[0], 'active');
  await isIn(second.instanceUuids[0], 'active');
  const ends = await Promise.all([first, second].map(({ instanceUuids }) => client.instance(instanceUuids[0] ?? '')));
  expect(ends.map(({ host }) => host).toSorted()).toEqual(['h1', 'h2']);
  await eventually('nothing is leased', async () => (await leases()) === 0);
  for (const { instanceUuids } of [first, second]) await terminate(instanceUuids[0]);
});

it('takes back what a project has borrowed, for the one that lent it', async () => {
  for (const project of ['lender', 'borrower']) {
    const { code, err } = await runLine(`quota set --project ${project} --limit VCPU=2 --cohort lab`, cell.commandEnv);
    expect([code, err]).toEqual([0, '']);
  }
  const borrowed = [await build({}, 'borrower'), await build({}, 'borrower')];
  for (const { instanceUuids } of borrowed) await isIn(instanceUuids[0], 'active');
  const [own = ''] = (await build({ priority: 5, mayPreempt: true, waitForCapacityMs: 60_000 }, 'lender'))
    .instanceUuids;
  await isIn(own, 'active');
  const ends = await Promise.all(borrowed.map(({ instanceUuids }) => client.instance(instanceUuids[0] ?? '')));
  expect(ends.map((one) => one?.state).toSorted()).toEqual(['active', 'deleted']);
  const fault = ends.find((one) => one?.state === 'deleted')?.fault;
  // The borrower learns that another project's instance has its place, never which project's.
  const message = 'its project had borrowed what it held; taken back for an instance of another project';
  expect(fault).toMatchObject({ reason: 'reclaimed', message });
  expect(JSON.stringify(ends)).not.toContain(own);
});
