import { inventory } from '#libs/domain/inventory';
import { aWorld, type TestScheduler, type World } from '../../testing/world';

let world: World;
let scheduler: TestScheduler;
beforeEach(async () => {
  world = aWorld();
  scheduler = await world.scheduler();
});
afterEach(() => world.close());

const GOLD = 'CUSTOM_BAREMETAL_GOLD';
const refusals = (resources: Readonly<Record<string, number>>, host: string) =>
  scheduler.explain({ resources }, host).hosts[0]?.refusals;

it('leaves out a node that is taken by one of its classes for a request that asks for the other', async () => {
  const whole = inventory(64, { minUnit: 64, maxUnit: 64 });
  await world.report('node', { inventories: { VCPU: whole, [GOLD]: inventory(1) } });
  expect(refusals({ [GOLD]: 1 }, 'node')).toEqual([]);
  await world.occupy('node', { VCPU: 64 });
  expect(refusals({ [GOLD]: 1 }, 'node')).toEqual([
    expect.stringContaining('a node with an instance, which has all of it'),
  ]);
});

it('leaves hosts alone that are no nodes', async () => {
  await world.report('host', { inventories: { VCPU: inventory(64), CUSTOM_GPU: inventory(1) } });
  await world.occupy('host', { VCPU: 2 });
  expect(refusals({ CUSTOM_GPU: 1 }, 'host')).toEqual([]);
});
