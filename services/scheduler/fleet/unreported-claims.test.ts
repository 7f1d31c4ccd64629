import { mustCommit } from '#libs/testing/placement/placement';
import { aWorld, type TestScheduler, type World } from '../testing/world';

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

const config = { claimSettleMs: 5_000 };

/** Builds in progress on a host, seen alike by a scheduler that followed and by one that has just begun. */
async function buildsInProgress(follower: TestScheduler): Promise<number | undefined> {
  await follower.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  const seen = [follower, await world.scheduler(config)].map((scheduler) => scheduler.host('a')?.buildsInProgress);
  expect(seen[0]).toBe(seen[1]);
  return seen[0];
}

it('counts claims until they are released, reported or settled by time', async () => {
  await world.report('a');
  const scheduler = await world.scheduler(config);
  await world.clock.advance(1);
  const { response } = await scheduler.select({}, 2);
  await world.clock.advance(1_000);
  await world.occupy('a', { VCPU: 1 });
  expect(await buildsInProgress(scheduler)).toBe(3);

  const [{ instanceUuid: consumerUuid, claimToken } = { instanceUuid: '', claimToken: 0 }] = response.destinations;
  const atMs = world.clock.now();
  await mustCommit(world.placement, { kind: 'release_claim', consumerUuid, claimToken, atMs });
  expect(await buildsInProgress(scheduler)).toBe(2);

  await world.clock.advance(4_500);
  expect(await buildsInProgress(scheduler)).toBe(1);

  await world.report('a', { ioOps: 4 });
  expect(await buildsInProgress(scheduler)).toBe(4);
});
