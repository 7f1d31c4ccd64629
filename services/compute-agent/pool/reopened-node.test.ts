import { randomUUID } from 'node:crypto';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { LEASE_MS, PoolWorld } from '../testing/pool-world';

/* A node that its manager opens again while the store has an older record of it. */

let world: PoolWorld;

beforeEach(async () => {
  world = new PoolWorld(['n1', 'n2']);
  await world.serve();
  await world.start('metal-1');
  await world.clock.advance(5_000);
});
afterEach(() => world.close());

/** A store that knows the holder of n1 and has forgotten that of n2: the agent asks for both again. */
async function forgetOtherNode(): Promise<void> {
  const [held] = await world.store.holders(['n1']);
  const { agentRun = '', serviceHost = '', epoch = 0 } = held ?? {};
  world.store = new MemoryPlacementStore();
  await world.store.acquireHosts({ hosts: ['n1'], agentRun, serviceHost, leaseMs: LEASE_MS, atMs: epoch });
}

async function buildOn(): Promise<string> {
  const uuid = randomUUID();
  await world.build('metal-1', uuid);
  await world.clock.advance(10_000);
  return uuid;
}

it('goes on with what it built, when the store went back to an instance that ended on the node', async () => {
  const before = await world.holder();
  const ended = await buildOn();
  const older = world.node;
  await world.destroy('metal-1', ended);
  await world.clock.advance(20_000);
  const present = await buildOn();
  expect([older?.instanceUuid, world.node?.instanceUuid]).toEqual([ended, present]);
  await forgetOtherNode();
  world.node = older;
  await world.clock.advance(3_000);
  expect((await world.holder())?.epoch).toBe(before?.epoch);
  expect(world.node).toMatchObject({ state: 'active', instanceUuid: present });
  expect(JSON.parse(world.node?.journal ?? '').instances).toMatchObject([{ uuid: present, state: 'running' }]);
});

it('goes on by the store, when another managed the node in between', async () => {
  await buildOn();
  const own = world.node;
  world.isStoreAway = true;
  await world.clock.advance(LEASE_MS + 1_000);
  const holder = { hosts: ['n1'], agentRun: randomUUID(), serviceHost: 'metal-2', leaseMs: 1_000 };
  await world.store.acquireHosts({ ...holder, atMs: world.clock.now() });
  await world.clock.advance(2_000);
  world.node = own && { ...own, state: 'available', instanceUuid: '', journal: '', updatedAtMs: own.updatedAtMs - 1 };
  world.isStoreAway = false;
  await world.clock.advance(10_000);
  expect(await world.holder()).toMatchObject({ serviceHost: 'metal-1' });
  expect(world.node).toMatchObject({ state: 'available', instanceUuid: '' });
});
