import { randomUUID } from 'node:crypto';
import type { DeviceAlternative } from '#libs/domain/devices/device-request';
import { inventory } from '#libs/domain/inventory';
import { aDevice, aDeviceRequest, nestedDevices } from '#libs/testing/placement/hosts/devices';
import { setQuota } from '#libs/testing/placement/projects/placement-store-quotas';
import { aWorld, hostsOf, INVENTORIES, type TestScheduler, uuidOfHost, type World } from '../testing/world';

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

describe('devices', () => {
  const H100 = { selectors: ['device.attributes.model == "H100"'] };
  const gpuHost = (host: string, devices: Readonly<Record<string, string>>, resourceClass?: string) => {
    const entries = Object.entries(devices).map(
      ([name, model]) => [name, aDevice({ model }, { resourceClass })] as const,
    );
    return world.report(host, { nested: nestedDevices(host, uuidOfHost(host), Object.fromEntries(entries)) });
  };
  const asks = (...alternatives: readonly Partial<DeviceAlternative>[]) => ({
    ...ONE,
    deviceRequests: [aDeviceRequest('gpu', ...alternatives)],
  });

  it('counts devices of a kind by its class, and those of none as such', async () => {
    await gpuHost('a', { gpu0: 'H100', gpu1: 'H100', gpu2: 'H100' }, 'CUSTOM_GPU');
    await gpuHost('b', { nic0: 'X', nic1: 'X' });
    await setQuota(world.placement, 'project-1', { limits: { CUSTOM_GPU: 1, CUSTOM_DEVICE: 1 } });
    const scheduler = await world.scheduler();
    const ofKind = asks({ ...H100, resourceClass: 'CUSTOM_GPU' });
    expect(hostsOf(await scheduler.select(ofKind))).toEqual(['a']);
    const { response } = await scheduler.select(ofKind);
    expect(response.noValidHost?.quotaExceeded).toMatchObject([{ resourceClass: 'CUSTOM_GPU', used: 1, limit: 1 }]);
    expect(response.noValidHost?.summary).toContain('CUSTOM_GPU: 1 used, 1 asked, limit 1');
    expect(hostsOf(await scheduler.select(asks({})))).toEqual(['b']);
    expect((await scheduler.select(asks({}))).response.noValidHost?.quotaExceeded).toMatchObject([
      { resourceClass: 'CUSTOM_DEVICE', used: 1, limit: 1 },
    ]);
    expect(hostsOf(await scheduler.select({ ...ofKind, projectId: 'another' }))).toEqual(['a']);
  });

  it('counts those that a flavor asks for', async () => {
    await gpuHost('a', { gpu0: 'H100', gpu1: 'H100' }, 'CUSTOM_GPU');
    await setQuota(world.placement, 'project-1', { limits: { CUSTOM_GPU: 1 } });
    const scheduler = await world.scheduler();
    const two = { 'device:gpu': 'class=CUSTOM_GPU,count=2,select=device.attributes.model == "H100"' };
    expect((await scheduler.select({ ...ONE, extraSpecs: two })).response.noValidHost?.quotaExceeded).toMatchObject([
      { resourceClass: 'CUSTOM_GPU', asked: 2, limit: 1 },
    ]);
  });

  it('goes to another host when one has only the alternative that is beyond the quota, and ends when all are so', async () => {
    await gpuHost('old', { gpu0: 'A100', gpu1: 'A100' });
    await setQuota(world.placement, 'project-1', { limits: { CUSTOM_DEVICE: 1 } });
    const scheduler = await world.scheduler();
    const either = asks(H100, { selectors: ['device.attributes.model == "A100"'], count: 2 });
    const { response } = await scheduler.select(either);
    expect(response.noValidHost?.summary).toContain('claim_refused');
    await gpuHost('new', { gpu0: 'H100' });
    await caughtUp(scheduler);
    expect(hostsOf(await scheduler.select(either))).toEqual(['new']);
  });
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
