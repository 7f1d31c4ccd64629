import { countOverCapacity } from './metrics';
import { aWorld } from './testing/world';

it('counts inventories that forced claims have taken above their capacity', async () => {
  const world = aWorld();
  const { mirror } = await world.scheduler();
  await world.report('a');
  const countNow = async () => {
    await mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
    return countOverCapacity(mirror);
  };
  await world.occupy('a', { VCPU: 8, MEMORY_MB: 1 });
  expect(await countNow()).toBe(0);
  await world.force('a', { VCPU: 1, MEMORY_MB: 1 });
  expect(await countNow()).toBe(1);
  await world.close();
});
