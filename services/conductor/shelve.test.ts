import type { Running } from '#libs/runtime/service';
import { ConductorWorld } from './testing/conductor-world';

let world: ConductorWorld;
let conductor: Running;

beforeEach(async () => {
  world = new ConductorWorld();
  await world.open({ h1: 1, h2: 1 });
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

async function operate(uuid: string, operation: 'shelve' | 'unshelve' | 'stop' | 'start'): Promise<string> {
  const answered = world.operate(uuid, operation).then(
    (view) => view.state,
    (error: { reason: string }) => error.reason,
  );
  await world.clock.advance(0);
  return answered;
}

it('gives up its host and its claim, keeps its record, and is built on a host that is selected anew', async () => {
  const uuid = await built();
  await operate(uuid, 'shelve');
  expect(await world.only()).toMatchObject({ state: 'shelved_offloaded', host: undefined });
  expect(await world.claims()).toEqual([]);
  expect(world.runs()).toEqual([]);
  world.hosts = ['h2', 'h1'];
  await operate(uuid, 'unshelve');
  expect(await world.only()).toMatchObject({ state: 'active', host: 'h2', formerState: undefined });
  expect(await world.claims()).toEqual([`${uuid} h2`]);
  const told = world.events.map((event) => event.state).slice(3);
  expect(told).toEqual(['shelving', 'shelved_offloaded', 'unshelving', 'building', 'active']);
});

it('shelves what is stopped, and unshelves it as running', async () => {
  const uuid = await built();
  await operate(uuid, 'stop');
  await operate(uuid, 'shelve');
  expect(await world.only()).toMatchObject({ state: 'shelved_offloaded' });
  expect(await operate(uuid, 'start')).toBe('instance_state');
  await operate(uuid, 'unshelve');
  expect(await world.only()).toMatchObject({ state: 'active' });
});

it('holds its claim until its host has said that nothing is left, and tells it again', async () => {
  const uuid = await built();
  world.behaviour.set('h1', 'is silent');
  world.heedsDestroy = false;
  await operate(uuid, 'shelve');
  expect(await world.only()).toMatchObject({ state: 'shelving', host: 'h1' });
  expect(await world.claims()).toEqual([`${uuid} h1`]);
  world.heedsDestroy = true;
  await world.clock.advance(12_000);
  expect(await world.only()).toMatchObject({ state: 'shelved_offloaded' });
  expect(world.destroys).toHaveLength(2);
});

it.each([
  { when: 'no host fits', reason: 'no_valid_host' },
  { when: 'all hosts fail', reason: 'hosts_exhausted' },
])('stays shelved, and says why, when $when', async ({ reason }) => {
  const uuid = await built();
  await operate(uuid, 'shelve');
  if (reason === 'no_valid_host') world.hosts = [];
  else for (const host of world.hosts) world.behaviour.set(host, 'fails');
  await operate(uuid, 'unshelve');
  expect(await world.only()).toMatchObject({ state: 'shelved_offloaded', host: undefined, fault: { reason } });
  expect(await world.claims()).toEqual([]);
  world.hosts = ['h1', 'h2'];
  for (const host of world.hosts) world.behaviour.set(host, 'builds');
  await operate(uuid, 'unshelve');
  expect(await world.only()).toMatchObject({ state: 'active', fault: undefined });
});

it('ends at once when it is terminated', async () => {
  const uuid = await built();
  await operate(uuid, 'shelve');
  await world.terminate(uuid);
  await world.clock.advance(0);
  expect(await world.only()).toMatchObject({ state: 'deleted' });
});

it('has a copy destroyed that its old host comes back with', async () => {
  const uuid = await built();
  await operate(uuid, 'shelve');
  world.running.get(uuid)?.add('h1');
  await world.sendDiscrepancy(world.discrepancy('h1', { unclaimed: [world.runningInstance(uuid, 'h1')] }));
  await world.clock.advance(0);
  expect(world.runs()).toEqual([]);
  expect(world.harmed).toEqual([]);
});

it('is not built by the claim that was released, when a scheduler still answers with that', async () => {
  const uuid = await built();
  const [held] = await world.placement.consumers([uuid]);
  await operate(uuid, 'shelve');
  world.staleClaim = held?.claimToken;
  await operate(uuid, 'unshelve');
  expect(await world.only()).toMatchObject({ state: 'unshelving' });
  world.staleClaim = undefined;
  await world.clock.advance(7_000);
  expect(await world.only()).toMatchObject({ state: 'active' });
  expect(await world.claims()).toEqual([`${uuid} h1`]);
});

it('is found by a state of two words', async () => {
  const uuid = await built();
  await operate(uuid, 'shelve');
  expect(await world.instances.list({ state: 'shelved_offloaded' }, undefined, 10)).toMatchObject([{ uuid }]);
});
