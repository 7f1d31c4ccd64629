import { setQuota } from '#libs/testing/placement/projects/placement-store-quotas';
import { aWorld, hostsOf, type World } from '../testing/world';

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

const HALF = { resources: { VCPU: 4 } };

it('finds hosts for as many instances as fit, and says why not for more', async () => {
  await world.report('a');
  await world.report('b');
  const scheduler = await world.scheduler();
  const selected = await scheduler.select(HALF, 9, 0, { minCount: 2 });
  expect(hostsOf(selected).toSorted()).toEqual(['a', 'a', 'b', 'b']);
  expect(selected.response.noValidHost?.summary).toBe(
    'room for 4 of 9 instances, then 0 of 2 hosts fit: 2 lack free VCPU (capacity_vcpu)',
  );
});

it('finds none when fewer fit than are enough, and claims nothing', async () => {
  await world.report('a');
  const scheduler = await world.scheduler();
  const { response } = await scheduler.select(HALF, 4, 0, { minCount: 3 });
  expect(response.destinations).toEqual([]);
  expect(response.noValidHost?.summary).toContain('room for 2 of 3 instances');
  expect(hostsOf(await scheduler.select(HALF, 2))).toEqual(['a', 'a']);
});

it('finds hosts for all when all fit', async () => {
  await world.report('a');
  const scheduler = await world.scheduler();
  const { response } = await scheduler.select(HALF, 2, 0, { minCount: 1 });
  expect([response.destinations.length, response.noValidHost]).toEqual([2, undefined]);
});

it('counts what a quota leaves', async () => {
  await world.report('a');
  await setQuota(world.placement, 'project-1', { limits: { instances: 3 } });
  const scheduler = await world.scheduler();
  const { response } = await scheduler.select({ projectId: 'project-1', resources: { VCPU: 1 } }, 5, 0, {
    minCount: 2,
  });
  expect(response.destinations.length).toBe(3);
  expect(response.noValidHost?.quotaExceeded).toMatchObject([{ resourceClass: 'instances', asked: 5, limit: 3 }]);
});

it('puts as many as fit on one host when they want the same', async () => {
  await world.report('a');
  await world.report('b');
  const scheduler = await world.scheduler();
  const group = { id: 'g', policy: 'affinity', maxPerHost: 1 } as const;
  expect(new Set(hostsOf(await scheduler.select({ ...HALF, group }, 3, 0, { minCount: 1 }))).size).toBe(1);
});

it('counts those first that hold a claim already', async () => {
  await world.report('a');
  const scheduler = await world.scheduler();
  const uuids = ['a', 'b', 'c', 'd'].map((one) => `00000000-0000-4000-8000-00000000000${one}`);
  const first = await scheduler.select(HALF, uuids.slice(2), 0);
  const again = await scheduler.select(HALF, uuids, 0, { minCount: 2 });
  expect(again.response.destinations).toMatchObject(
    first.response.destinations.map(({ instanceUuid, claimToken }) => ({ instanceUuid, claimToken })),
  );
});
