import { randomUUID } from 'node:crypto';
import { agentQueue } from '#libs/contracts/queues';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { LEASE_MS, PoolWorld } from '../testing/pool-world';

let world: PoolWorld;
const uuid = randomUUID();

beforeEach(async () => {
  world = new PoolWorld();
  await world.serve();
  await world.start('metal-1');
});
afterEach(() => world.close());

/** The store stays away until the agent's lease is in doubt, and the ring may assign its node to another. */
async function beInDoubt(): Promise<void> {
  world.isStoreAway = true;
  await world.clock.advance(LEASE_MS + 1_000);
}
async function storeIsBack(): Promise<void> {
  world.isStoreAway = false;
  await world.clock.advance(5_000);
}
/** The agent receives the ring, and nothing else. */
async function anotherIsNamed(): Promise<void> {
  await world.join('metal-2', 100);
  await world.clock.advance(3_000);
}

it('builds what was ordered while its lease was in doubt, once, when it knows that it holds the node', async () => {
  await beInDoubt();
  await world.build('metal-1', uuid);
  await world.clock.advance(20_000);
  expect([world.results, world.orders]).toEqual([[], []]);
  await storeIsBack();
  expect(world.results).toEqual(['active']);
  expect(world.controllers.system('n1').boots).toEqual(['Pxe']);
});

it('does what was ordered in doubt though the ring names another by then, as it holds the node still', async () => {
  await world.build('metal-1', uuid);
  await world.clock.advance(10_000);
  await anotherIsNamed();
  await beInDoubt();
  await world.destroy('metal-1', uuid);
  await world.clock.advance(5_000);
  expect(world.results).toEqual(['active']);
  await storeIsBack();
  expect(world.results).toEqual(['active', 'destroyed']);
  expect(world.node).toMatchObject({ instanceUuid: '' });
});

it('leaves what was ordered in doubt to the manager of now, once it hears of it', async () => {
  await beInDoubt();
  await anotherIsNamed();
  const [granted] = await world.store.acquireHosts({
    hosts: ['n1'],
    serviceHost: 'metal-2',
    agentRun: randomUUID(),
    leaseMs: 3_600_000,
    atMs: world.clock.now(),
  });
  expect(granted).toMatchObject({ kind: 'granted' });
  await world.build('metal-1', uuid);
  await world.clock.advance(5_000);
  expect(world.leftToOthers).toBe(0);
  await storeIsBack();
  expect([world.results, world.orders, world.leftToOthers]).toEqual([[], [], 1]);
});

it('keeps orders while it has given a node up, and does not know what the ring is now', async () => {
  await anotherIsNamed();
  const [held] = await world.store.holders(['n1']);
  await world.store.releaseHosts({ hosts: ['n1'], serviceHost: 'metal-1', agentRun: held?.agentRun ?? '' });
  await world.clock.advance(4_000);
  await beInDoubt();
  await world.build('metal-1', uuid);
  await world.clock.advance(5_000);
  expect(world.leftToOthers).toBe(0);
  await storeIsBack();
  expect(world.leftToOthers).toBe(1);
});

it('does not say that a start has failed which was cut short by the doubt', async () => {
  await world.build('metal-1', uuid);
  await world.clock.advance(10_000);
  await world.setPower('metal-1', uuid, 'shutdown');
  await world.clock.advance(5_000);
  expect(world.results).toEqual(['active', 'shutdown']);
  world.isStoreAway = true;
  await world.clock.advance(LEASE_MS / 3);
  await world.setPower('metal-1', uuid, 'running');
  await world.clock.advance(2 * LEASE_MS);
  expect(world.results).toEqual(['active', 'shutdown']);
  await storeIsBack();
  expect(world.results).toEqual(['active', 'shutdown', 'running']);
  expect(world.node).toMatchObject({ isOn: true });
});

it('goes on with a build that it began by an earlier epoch, though it was in doubt again meanwhile', async () => {
  const { epoch } = (await world.holder()) ?? {};
  await world.build('metal-1', uuid, epoch);
  await world.clock.advance(500);
  // The store is wiped, and is away again right after it has granted the node and received one report.
  const wiped = new MemoryPlacementStore();
  const acquire = wiped.acquireHosts.bind(wiped);
  let calls = 0;
  wiped.acquireHosts = async (request) => {
    const granted = await acquire(request);
    if (++calls === 2) world.isStoreAway = true;
    return granted;
  };
  world.store = wiped;
  await world.clock.advance(LEASE_MS + 5_000);
  expect([world.isStoreAway, world.results]).toEqual([true, []]);
  await storeIsBack();
  expect(world.results).toEqual(['active']);
  expect(world.controllers.system('n1').boots).toEqual(['Pxe']);
});

it('does what an operator orders in doubt when it knows that it holds the node', async () => {
  await beInDoubt();
  await world.operate('metal-1', 'power_on');
  await world.clock.advance(5_000);
  expect(world.orders).toEqual([]);
  await storeIsBack();
  expect(world.orders).toMatchObject([{ what: 'Reset On' }]);
});

it('leaves orders to whoever keeps a node within its slack, though the ring names this agent', async () => {
  const two = await world.start('metal-2', { BERTH_AGENT_WEIGHT: '100' });
  await world.clock.advance(3 * LEASE_MS);
  expect([...(await world.holders()).values()]).toEqual(['metal-1']);
  await world.build('metal-2', uuid);
  await world.destroy('metal-2', uuid);
  await world.setPower('metal-2', uuid, 'shutdown');
  await world.operate('metal-2', 'reboot');
  await world.clock.advance(10_000);
  const closing = two.close();
  await world.clock.advance(60_000);
  await closing;
  expect([await world.bus.depth(agentQueue('metal-2').name), world.results]).toEqual([0, []]);
});
