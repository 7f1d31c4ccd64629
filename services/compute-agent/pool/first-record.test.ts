import { PoolWorld } from '../testing/pool-world';

/* A node that no store and no agent remembers, and that is off, where new nodes are given out at once. */

let world: PoolWorld;

beforeEach(async () => {
  world = new PoolWorld();
  await world.serve();
});
afterEach(() => world.close());

async function startOver(assetTag: string): Promise<void> {
  world.controllers.system('n1').assetTag = assetTag;
  await world.start('metal-1');
  await world.clock.advance(5_000);
}

it.each(['Rack 3 [berth 5]', '[berth 5]', '[berth 5] moved to rack 4', '[berth 5 new] [berth 6]'])(
  'leaves a node alone that was managed before, and says what an operator can do: %s',
  async (assetTag) => {
    await startOver(assetTag);
    expect(world.node).toMatchObject({ state: 'enroll', reason: expect.stringContaining('berth node enroll n1') });
    expect(world.node?.reason).toContain(assetTag);
    expect([world.orders, world.controllers.system('n1').assetTag]).toEqual([[], assetTag]);
  },
);

it('leaves it alone after the next start, too, and manages it once an operator says so', async () => {
  await startOver('[berth 5]');
  const agent = await world.start('metal-2');
  await world.clock.advance(20_000);
  expect(world.node?.state).toBe('enroll');
  await Promise.all([agent.close(), world.clock.advance(20_000)]);
  await world.operate('metal-1', 'manage');
  await world.clock.advance(5_000);
  expect(world.node).toMatchObject({ state: 'manageable', reason: '' });
  expect(world.orders).toEqual([]);
});

it.each(['', 'Rack 3', '[berth 5 new]', 'Rack 3 [berth 5 new]'])(
  'gives out a node that nobody has managed, or whose first agent died before it wrote a record: "%s"',
  async (assetTag) => {
    await startOver(assetTag);
    const { epoch } = (await world.holder()) ?? {};
    expect(world.node).toMatchObject({ state: 'available', reason: '' });
    expect(world.controllers.system('n1').assetTag).toBe(
      `${assetTag.replace(/ ?\[berth.*/, '')} [berth ${epoch}]`.trimStart(),
    );
  },
);
