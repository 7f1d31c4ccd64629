import type { Running } from '#libs/runtime/service';
import { nextVersion } from '#libs/testing/instances/instance';
import { ConductorWorld } from './testing/conductor-world';

let world: ConductorWorld;
let conductor: Running;

beforeEach(async () => {
  world = new ConductorWorld();
  await world.open({ h1: 1 });
  conductor = await world.conductor();
});

afterEach(async () => {
  await world.closed(conductor);
});

async function built(): Promise<string> {
  await world.request();
  await world.clock.advance(0);
  return (await world.only()).uuid;
}

const state = async () => (await world.only()).state;

async function operate(uuid: string, operation: 'stop' | 'start', version?: number): Promise<string> {
  const answered = world.operate(uuid, operation, version).then(
    (view) => view.state,
    (error: { reason: string }) => error.reason,
  );
  await world.clock.advance(0);
  return answered;
}

it('stops an instance, which keeps its host and its claim, and starts it again', async () => {
  const uuid = await built();
  await operate(uuid, 'stop');
  expect(await state()).toBe('stopped');
  expect(await world.claims()).toEqual([`${uuid} h1`]);
  expect(world.stopped).toEqual(new Set([`${uuid} h1`]));
  await operate(uuid, 'start');
  expect(await state()).toBe('active');
  expect(world.stopped.size).toBe(0);
  const told = world.events.map((event) => event.state);
  expect(told).toEqual(['scheduling', 'building', 'active', 'stopping', 'stopped', 'starting', 'active']);
});

it('asks the host of a stopped one that it says it has built, and records what that answers', async () => {
  const uuid = await built();
  await operate(uuid, 'stop');
  const [order] = world.orders;
  if (!order) throw new Error('nothing was ordered');
  const [told] = world.powerReports;
  await world.report(order, 'active');
  await world.clock.advance(0);
  expect(world.powerOrders).toHaveLength(2);
  expect(await state()).toBe('stopped');
  expect(world.events.filter((event) => event.state === 'active')).toHaveLength(1);
  if (told) await world.sendPowerReport({ ...told, powerState: 'running', ...world.nextPosition('h1') });
  await world.clock.advance(0);
  expect(await state()).toBe('active');
});

it('answers a wish that is on record or done already as the first time', async () => {
  const uuid = await built();
  await operate(uuid, 'stop');
  expect(await operate(uuid, 'stop', 1)).toBe('stopped');
  expect(world.powerOrders).toHaveLength(1);
});

it('refuses a copy of a stop that comes after the instance was started again', async () => {
  const uuid = await built();
  const { version } = await world.only();
  await operate(uuid, 'stop');
  await operate(uuid, 'start');
  expect(await operate(uuid, 'stop', version)).toBe('instance_changed');
  expect(await state()).toBe('active');
});

it('does not say that it stops what was something else for a moment, and is as before', async () => {
  const uuid = await built();
  const record = await world.only();
  const update = world.instances.update.bind(world.instances);
  jest.spyOn(world.instances, 'update').mockImplementationOnce(async (next) => {
    await update(nextVersion(record, { state: 'starting' }));
    const refused = await update(next);
    await update({ ...record, version: record.version + 2 });
    return refused;
  });
  expect(await operate(uuid, 'stop')).toBe('instance_changed');
  expect(await state()).toBe('active');
});

it.each(['scheduling', 'deleted'])('refuses to stop what is %s', async (which) => {
  world.behaviour.set('h1', 'is silent');
  if (which === 'scheduling') world.hosts = [];
  const uuid = await built();
  if (which === 'deleted') {
    world.behaviour.set('h1', 'builds');
    await world.terminate(uuid);
    await world.clock.advance(0);
  }
  expect(await operate(uuid, 'stop')).toBe('instance_state');
});

it('stays stopped, and says why, when it can not be started', async () => {
  const uuid = await built();
  await operate(uuid, 'stop');
  world.behaviour.set('h1', 'fails');
  await operate(uuid, 'start');
  expect(await world.only()).toMatchObject({ state: 'stopped', fault: { reason: 'not_started' } });
  world.behaviour.set('h1', 'builds');
  await operate(uuid, 'start');
  expect(await world.only()).toMatchObject({ state: 'active', fault: undefined });
});

it('tells a host again that did not answer in time, but not one that is silent', async () => {
  const uuid = await built();
  world.behaviour.set('h1', 'is silent');
  await operate(uuid, 'stop');
  await world.setUp('h1', false);
  await world.clock.advance(120_000);
  expect(world.powerOrders).toHaveLength(1);
  await world.setUp('h1', true);
  world.behaviour.set('h1', 'builds');
  await world.clock.advance(10_000);
  expect(await state()).toBe('stopped');
});

it('goes by what its host said last, whatever comes late and twice', async () => {
  const uuid = await built();
  await operate(uuid, 'stop');
  await operate(uuid, 'start');
  await operate(uuid, 'stop');
  const said = world.powerReports.slice();
  for (const report of said) await world.sendPowerReport(report);
  await world.clock.advance(0);
  expect(await state()).toBe('stopped');
});

it('takes a stopped instance for lost no more than a running one', async () => {
  const uuid = await built();
  await operate(uuid, 'stop');
  const present = [world.runningInstance(uuid, 'h1')];
  await world.sendDiscrepancy(world.discrepancy('h1', { present }));
  await world.clock.advance(60_000);
  expect(await state()).toBe('stopped');
  await world.disagreeTwice('h1', { missing: [uuid] });
  await world.clock.advance(0);
  expect(await world.only()).toMatchObject({ state: 'error', fault: { reason: 'instance_lost' } });
  expect(await world.claims()).toEqual([]);
});

it.each([
  ['stopped', 'active'],
  ['active', 'stopped'],
] as const)('learns from its host that it is %s when the store has forgotten it', async (is, wasRecorded) => {
  const uuid = await built();
  await operate(uuid, 'stop');
  const forgotten = { stopped: await world.only(), active: undefined }[wasRecorded as 'stopped'];
  if (is === 'active') await operate(uuid, 'start');
  const record = await world.only();
  const old = forgotten ?? { ...record, state: 'active' as const };
  const { version } = record;
  // As a store that went back in time has it.
  await world.instances.update({ ...old, activeAt: { epoch: 1, position: 1 }, version: version + 1 });
  if (is === 'stopped') {
    const present = [world.runningInstance(uuid, 'h1')];
    await world.sendDiscrepancy(world.discrepancy('h1', { present }));
  }
  await world.clock.advance(60_000);
  expect(await state()).toBe(is);
});

it('is ACTIVE by the report of its build, whatever its host said before, when its record no longer waits for that', async () => {
  const uuid = await built();
  const record = await world.only();
  await world.instances.update(nextVersion(record, { state: 'unknown', activeAt: undefined }));
  const before = { ...world.discrepancy('h1', { present: [] }), ...world.nextPosition('h1') };
  const report = { instanceUuid: uuid, host: 'h1', attempt: 1, claimToken: record.claimToken ?? 0, alternates: [] };
  await world.sendReport({ ...report, outcome: 'active', reason: '', message: '', ...world.nextPosition('h1') });
  const present = [world.runningInstance(uuid, 'h1', { powerState: 'shutdown' })];
  await world.sendDiscrepancy({ ...before, present });
  await world.clock.advance(0);
  expect(await state()).toBe('active');
});
