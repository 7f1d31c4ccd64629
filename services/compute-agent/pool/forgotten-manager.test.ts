import { randomUUID } from 'node:crypto';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { LEASE_MS, PoolWorld } from '../testing/pool-world';

let world: PoolWorld;

beforeEach(async () => {
  world = new PoolWorld();
  await world.serve();
  await world.start('metal-1');
});
afterEach(() => world.close());

/** A copy of the store that knows the node's present holder, and learns of no later one. */
async function copyOfStore(): Promise<MemoryPlacementStore> {
  const [held] = await world.store.holders(['n1']);
  const copy = new MemoryPlacementStore();
  const { agentRun = '', serviceHost = '', epoch = 0 } = held ?? {};
  await copy.acquireHosts({ hosts: ['n1'], agentRun, serviceHost, leaseMs: LEASE_MS, atMs: epoch });
  return copy;
}

/** Another agent is granted the node, and claims it at its controller. Resolves to its epoch. */
async function anotherManages(): Promise<number> {
  const holder = { hosts: ['n1'], agentRun: randomUUID(), serviceHost: 'metal-2', leaseMs: 20_000 };
  const [granted] = await world.store.acquireHosts({ ...holder, atMs: world.clock.now() });
  if (granted?.kind !== 'granted') throw new Error('the node is held by another');
  await world.controller().claim(granted.epoch);
  return granted.epoch;
}

/** True when the agent holds the node by a later epoch, at the store and at the controller. */
async function isHeldAfter(before = Infinity): Promise<boolean> {
  const { serviceHost, epoch = 0, mark } = (await world.holder()) ?? {};
  return serviceHost === 'metal-1' && mark === epoch && epoch > before;
}

it('holds a node by a later epoch when a store that was wiped has forgotten its holder', async () => {
  const before = await world.holder();
  world.store = new MemoryPlacementStore();
  await world.clock.advance(10_000);
  expect(await isHeldAfter(before?.epoch)).toBe(true);
});

it('holds a node by a later epoch that another managed while nothing was known here, and who is forgotten', async () => {
  const older = await copyOfStore();
  world.isStoreAway = true;
  await world.clock.advance(LEASE_MS + 1_000);
  const epoch = await anotherManages();
  world.store = older;
  world.isStoreAway = false;
  await world.clock.advance(15_000);
  expect(await isHeldAfter(epoch)).toBe(true);
});

it('holds a node by a later epoch that it is granted again by the one of before its last manager', async () => {
  const older = await copyOfStore();
  world.isStoreAway = true;
  await world.clock.advance(LEASE_MS + 1_000);
  const epoch = await anotherManages();
  world.isStoreAway = false;
  await world.clock.advance(10_000);
  expect(await world.holder()).toMatchObject({ epoch, mark: epoch });
  world.store = older;
  await world.clock.advance(30_000);
  expect(await isHeldAfter(epoch)).toBe(true);
});

it('holds a node by a later epoch, and does what is ordered, once its controller says that another has claimed it', async () => {
  await world.clock.advance(2_000);
  const epoch = world.clock.now() - 500;
  await world.controller().claim(epoch);
  const uuid = randomUUID();
  await world.build('metal-1', uuid);
  await world.clock.advance(20_000);
  expect(new Set(world.results)).toEqual(new Set(['active']));
  expect(world.controllers.system('n1').boots).toEqual(['Pxe']);
  expect(await isHeldAfter(epoch)).toBe(true);
});
