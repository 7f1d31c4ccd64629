import type { Running } from '#libs/runtime/service';
import { ConductorWorld } from './testing/conductor-world';

/* Evacuation by rebuild policy, without an operator. */

const AFTER_MS = 100_000;
const SETTINGS = { BERTH_CONDUCTOR_REBUILD_AFTER_MS: String(AFTER_MS), BERTH_CONDUCTOR_REBUILD_PARALLEL: '2' };

let world: ConductorWorld;
let conductor: Running;

beforeEach(async () => {
  world = new ConductorWorld();
  await world.open({ h1: 8, h2: 8 });
  conductor = await world.conductor((deps) => deps, SETTINGS);
});

afterEach(async () => {
  await world.closed(conductor);
});

async function built(policy: 'never' | 'evacuate', count = 1): Promise<void> {
  world.rebuildPolicy = policy;
  await world.request(count);
  await world.clock.advance(0);
}

async function dies(host: string): Promise<void> {
  world.behaviour.set(host, 'is silent');
  await world.setUp(host, false);
  await world.setUp('h2', true);
}

const places = async () => (await world.all()).map(({ host, state }) => `${host} ${state}`).sort();

it('evacuates what asked for it when its host has been down for long enough, and nothing else', async () => {
  await built('evacuate');
  await built('never');
  await dies('h1');
  await world.clock.advance(AFTER_MS - 30_000);
  expect(await places()).toEqual(['h1 unknown', 'h1 unknown']);
  await world.clock.advance(60_000);
  expect(await places()).toEqual(['h1 unknown', 'h2 active']);
  expect(world.harmed).toEqual([]);
});

it('waits for a host whose agent may live: its lease must have run out', async () => {
  await built('evacuate');
  await dies('h1');
  const holder = { agentRun: 'a run', serviceHost: 'h1', hosts: ['h1'] };
  await world.placement.acquireHosts({ ...holder, leaseMs: 2 * AFTER_MS, atMs: world.clock.now() });
  await world.clock.advance(AFTER_MS + 60_000);
  expect(await places()).toEqual(['h1 unknown']);
  await world.clock.advance(AFTER_MS);
  expect(await places()).toEqual(['h2 active']);
});

it('evacuates so many in one pass, and counts those that are still on their way', async () => {
  await built('evacuate', 5);
  await dies('h1');
  const there: number[] = [];
  for (let seconds = 0; seconds < 200; seconds++) {
    await world.clock.advance(1_000);
    there.push((await places()).filter((one) => one === 'h2 active').length);
  }
  expect([...new Set(there)]).toEqual([0, 2, 4, 5]);
});

it('begins no other while as many as it may are on their way', async () => {
  await built('evacuate', 5);
  await dies('h1');
  world.behaviour.set('h2', 'late');
  const onTheirWay: number[] = [];
  for (let seconds = 0; seconds < 140; seconds++) {
    await world.clock.advance(1_000);
    onTheirWay.push((await world.all()).filter(({ state }) => state === 'building').length);
  }
  expect(Math.max(...onTheirWay)).toBe(2);
});

it('reads what is on dead hosts, and of other hosts nothing', async () => {
  await built('evacuate', 10);
  await dies('h1');
  const [list, scan] = [jest.spyOn(world.instances, 'list'), jest.spyOn(world.instances, 'scan')];
  const passes = 7;
  await world.clock.advance(20_000 * passes);
  expect((await places()).filter((one) => one === 'h2 active').length).toBeGreaterThan(2);
  expect(new Set(list.mock.calls.flatMap(([{ host }]) => host ?? []))).toEqual(new Set(['h1']));
  // By the audit alone.
  expect(scan.mock.calls.length).toBeLessThanOrEqual(passes);
});

it('tries again what no other host takes, but not in every pass', async () => {
  world.hosts = ['h1'];
  await built('evacuate');
  await dies('h1');
  await world.clock.advance(AFTER_MS + 80_000);
  const [instance] = await world.all();
  expect(instance).toMatchObject({ state: 'unknown', host: 'h1', fault: { reason: 'no_valid_host' } });
  const tries = () => world.events.filter(({ state }) => state === 'rebuilding').length;
  expect(tries()).toBe(1);
  world.hosts = ['h1', 'h2'];
  await world.clock.advance(AFTER_MS + 30_000);
  expect(await places()).toEqual(['h2 active']);
});

it('tries what is on every dead host, however many of the first find no other', async () => {
  await conductor.close();
  conductor = await world.conductor((deps) => deps, { ...SETTINGS, BERTH_CONDUCTOR_REBUILD_PARALLEL: '1' });
  await built('evacuate', 6);
  world.hosts = ['h2'];
  await built('evacuate');
  // Those of h1 find no other host.
  world.hosts = ['h1'];
  await dies('h1');
  await world.clock.advance(5_000);
  world.behaviour.set('h2', 'is silent');
  const nowMs = world.clock.now();
  await world.placement.commit({ kind: 'sweep_hosts', atMs: nowMs, silentSinceMs: nowMs, limit: 1_000 });
  await world.clock.advance(4 * AFTER_MS);
  const tried = world.events.filter(({ state }) => state === 'rebuilding').map(({ instanceUuid }) => instanceUuid);
  expect(new Set(tried).size).toBe(7);
});
