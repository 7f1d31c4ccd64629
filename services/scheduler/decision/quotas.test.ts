import { randomUUID } from 'node:crypto';
import { inventory } from '#libs/domain/inventory';
import { setQuota } from '#libs/testing/placement/projects/placement-store-quotas';
import { aWorld, hostsOf, INVENTORIES, type TestScheduler, type World } from '../testing/world';

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

const PROJECT = { projectId: 'project-1' };
const ONE = { ...PROJECT, resources: { VCPU: 1 } };

async function caughtUp(scheduler: TestScheduler): Promise<void> {
  await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
}

async function limited(limits: Readonly<Record<string, number>>): Promise<TestScheduler> {
  await world.report('a');
  await setQuota(world.placement, 'project-1', { limits });
  return world.scheduler();
}

it('says what is used, asked and the limit, beside whatever else refuses the hosts', async () => {
  const scheduler = await limited({ VCPU: 3, instances: 2 });
  expect(hostsOf(await scheduler.select({ ...ONE, resources: { VCPU: 2 } }))).toEqual(['a']);
  const { response } = await scheduler.select({ ...ONE, resources: { VCPU: 7 } }, 1);
  expect(response.noValidHost).toMatchObject({
    hostsPassed: 0,
    filters: [
      { filter: 'capacity', reasons: { capacity_vcpu: 1 } },
      { filter: 'quota', reasons: { quota_exceeded: 1 } },
    ],
    quotaExceeded: [{ scope: 'project', name: 'project-1', resourceClass: 'VCPU', used: 2, asked: 7, limit: 3 }],
  });
  expect(response.noValidHost?.summary).toContain('VCPU: 2 used, 7 asked, limit 3');
});

it('places all instances of a request within the quota, or none', async () => {
  const scheduler = await limited({ instances: 2 });
  expect(hostsOf(await scheduler.select(ONE, 3))).toEqual([]);
  expect(hostsOf(await scheduler.select(ONE, 2))).toEqual(['a', 'a']);
});

it('gives the same answer again when the quota is used up by it', async () => {
  await world.report('b');
  const scheduler = await limited({ instances: 1 });
  const uuids = [randomUUID()];
  const first = await scheduler.select(ONE, uuids, 1);
  const again = await scheduler.select(ONE, uuids, 1);
  expect(again.response.destinations).toMatchObject([
    { selected: { host: hostsOf(first)[0] }, alternates: [{ host: expect.any(String) as string }] },
  ]);
});

it('explains the quota without claiming, also for a host by name', async () => {
  const scheduler = await limited({ VCPU: 0 });
  const { diagnosis, hosts, conflict } = scheduler.explain(ONE, 'a');
  expect(diagnosis.quotaExceeded).toHaveLength(1);
  expect(hosts[0]?.refusals).toEqual(['quota: VCPU: 0 used, 1 asked, limit 0']);
  expect(conflict).toEqual([]);
  expect(scheduler.explain(ONE)).toMatchObject({ conflict: ['quota_exceeded'] });
  expect(scheduler.explain({ ...ONE, projectId: 'another' }).diagnosis.hostsPassed).toBe(1);
});

it('costs one more decision when another scheduler has used the quota up meanwhile', async () => {
  const scheduler = await limited({ instances: 1 });
  await caughtUp(scheduler);
  await world.occupy('a', { VCPU: 1 });
  const { response, conflicts } = await scheduler.select(ONE);
  expect(response.noValidHost?.quotaExceeded).toMatchObject([{ resourceClass: 'instances', used: 1, limit: 1 }]);
  expect(conflicts).toBeLessThanOrEqual(1);
});

it('never exceeds the quota from two schedulers at once', async () => {
  const one = await limited({ instances: 5 });
  const two = await world.scheduler();
  const selected = await Promise.all(
    Array.from({ length: 12 }, (_, n) => (n % 2 === 0 ? one : two).select({ ...ONE, resources: { DISK_GB: 1 } })),
  );
  expect(selected.flatMap(hostsOf)).toHaveLength(5);
});

it('takes what is preferred only as far as the quota allows', async () => {
  await world.report('gpu', { inventories: { ...INVENTORIES, VGPU: inventory(4) } });
  await setQuota(world.placement, 'project-1', { limits: { VGPU: 1 } });
  const scheduler = await world.scheduler();
  const likes = { ...ONE, preferredResources: { VGPU: 1 } };
  const held = async (instances: number) => {
    const uuids = Array.from({ length: instances }, () => randomUUID());
    await scheduler.select(likes, uuids);
    const consumers = await world.placement.consumers(uuids);
    return consumers.map(({ allocations }) => Object.values(allocations)[0]?.['VGPU']);
  };
  expect(await held(1)).toEqual([1]);
  expect(await held(1)).toEqual([undefined]);
});
