import { createRing, type RingMember } from '#libs/ring/ring';
import { LEASE_MS, PoolWorld } from '../testing/pool-world';

const NODES = Array.from({ length: 60 }, (_, n) => `node-${n}`);
const SETTLE_MS = 3 * LEASE_MS;

let world: PoolWorld;
beforeEach(async () => {
  world = new PoolWorld(NODES);
  await world.serve();
});
afterEach(() => world.close());

function namedBy(...members: RingMember[]): ReadonlyMap<string, string | undefined> {
  const ring = createRing(members);
  return new Map(NODES.map((node) => [node, ring.ownerOf(node)]));
}
const countOf = (holders: ReadonlyMap<string, string | undefined>, name: string) =>
  [...holders.values()].filter((holder) => holder === name).length;

it('an agent holds as many nodes as its weight says', async () => {
  await world.start('metal-1', { BERTH_AGENT_RING_SLACK: '0', BERTH_AGENT_WEIGHT: '0.5' });
  await world.start('metal-2', { BERTH_AGENT_RING_SLACK: '0', BERTH_AGENT_WEIGHT: '2' });
  await world.clock.advance(SETTLE_MS);
  const holders = await world.holders();
  const fair = namedBy({ name: 'metal-1', weight: 0.5 }, { name: 'metal-2', weight: 2 });
  expect([...holders].filter(([, holder]) => holder === undefined)).toEqual([]);
  // Up to its fair share, 12 of 60, the first agent keeps its nodes from before the other came.
  expect(countOf(holders, 'metal-2')).toBeGreaterThanOrEqual(45);
  const own = NODES.filter((node) => fair.get(node) === 'metal-1');
  expect(own.map((node) => holders.get(node))).toEqual(own.map(() => 'metal-1'));
});

it('agents that join and leave move nodes within the slack only, and each node has a holder', async () => {
  const slack = { BERTH_AGENT_RING_SLACK: '0.4' };
  await world.start('metal-1', slack);
  await world.start('metal-2', slack);
  await world.clock.advance(SETTLE_MS);
  const before = await world.holders();
  const third = await world.start('metal-3', slack);
  await world.clock.advance(SETTLE_MS);
  const after = await world.holders();
  const all = ['metal-1', 'metal-2', 'metal-3'].map((name) => ({ name, weight: 1 }));
  const [two, three] = [namedBy(...all.slice(0, 2)), namedBy(...all)];
  const moved = NODES.filter((node) => before.get(node) !== after.get(node));
  expect(moved.filter((node) => after.get(node) !== three.get(node))).toEqual([]);
  // The first had 42 of the 60, with the slack, and keeps 28: its fair share is 20 now, and its slack 8.
  expect([countOf(before, 'metal-1'), countOf(after, 'metal-1')]).toEqual([42, 28]);
  expect(countOf(after, 'metal-3')).toBeGreaterThan(0);
  const closing = third.close();
  await world.clock.advance(SETTLE_MS);
  await closing;
  const without = await world.holders();
  const left = NODES.filter((node) => after.get(node) !== without.get(node));
  expect(left).toEqual(NODES.filter((node) => after.get(node) === 'metal-3'));
  expect(left.filter((node) => without.get(node) !== two.get(node))).toEqual([]);
});
