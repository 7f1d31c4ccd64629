import { randomUUID } from 'node:crypto';
import { type Inventories, inventory, type Resources } from '#libs/domain/inventory';
import { migrationUuidOf } from '#libs/domain/moves/migration';
import { SHARING_TRAIT } from '#libs/domain/provider';
import type { RequestGroup } from '#libs/domain/request-spec';
import { nestedProviderUuid } from '#libs/placement/port/nested-provider';
import { aWrite, mustCommit } from '#libs/testing/placement/placement';
import { NO_QUARANTINES } from '../fleet/quarantine';
import { listOverAllocated } from '../reports/list-over-allocated';
import { summarise } from '../summary/host-summary';
import { aWorld, hostsOf, uuidOfHost, type World } from '../testing/world';

const POOL = 'aaaaaaaa-0000-4000-8000-000000000001';

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

/** A host whose root has disk, and children with CPUs, memory and one device each. */
async function nestedHost(host: string, childCount: number, child: Inventories): Promise<string[]> {
  await world.report(host, { inventories: { DISK_GB: inventory(100) } });
  const children: string[] = [];
  for (let i = 0; i < childCount; i++) children.push(await provider(`${host}-${i}`, child, uuidOfHost(host)));
  return children;
}

async function provider(name: string, inventories: Inventories, parentUuid?: string): Promise<string> {
  const uuid = randomUUID();
  await mustCommit(world.placement, { kind: 'put_provider', uuid, name, parentUuid, mode: 'create' });
  const change = { providerUuid: uuid, generation: undefined, replace: true } as const;
  await mustCommit(world.placement, { kind: 'write_inventories', inventories, ...change });
  return uuid;
}

async function take(providerUuid: string, resources: Resources): Promise<void> {
  const consumers = [aWrite({ [providerUuid]: resources }, { owner: 'api' })];
  await mustCommit(world.placement, { kind: 'write_allocations', consumers });
}

function group(suffix: string, resources: Resources, fields: Partial<RequestGroup> = {}): RequestGroup {
  const none = { requiredTraits: [], forbiddenTraits: [], memberOf: [], forbiddenAggregates: [], inTree: undefined };
  return { suffix, resources, ...none, ...fields };
}

async function allocationsOf(uuid: string) {
  return (await world.placement.consumers([uuid]))[0]?.allocations;
}

const NUMA = { VCPU: inventory(4), MEMORY_MB: inventory(4_096) };

it('claims each request group from a provider of its own, with one allocation request', async () => {
  const children = await nestedHost('nested', 2, NUMA);
  const scheduler = await world.scheduler();
  const uuid = randomUUID();
  const half = { VCPU: 3, MEMORY_MB: 2_048 };
  const spec = { resources: { DISK_GB: 10 }, requestGroups: [group('_0', half), group('_1', half)] };
  const selected = await scheduler.select({ ...spec, groupPolicy: 'isolate' }, [uuid]);
  expect(hostsOf(selected)).toEqual(['nested']);
  const [first = '', second = ''] = children;
  expect(await allocationsOf(uuid)).toEqual({ [uuidOfHost('nested')]: { DISK_GB: 10 }, [first]: half, [second]: half });
  const [consumer] = await world.placement.consumers([uuid]);
  expect(Object.keys(consumer?.mappings ?? {}).sort()).toEqual(['', '_0', '_1']);
});

it('keeps groups of one subtree under one provider', async () => {
  const [near = '', far = ''] = await nestedHost('nested', 2, NUMA);
  const gpuNear = await provider('gpu-near', { VGPU: inventory(1) }, near);
  await provider('gpu-far', { VGPU: inventory(1) }, far);
  await take(far, { VCPU: 4 });
  const scheduler = await world.scheduler();
  const uuid = randomUUID();
  const requestGroups = [group('_cpu', { VCPU: 1 }), group('_gpu', { VGPU: 1 })];
  await scheduler.select({ resources: { DISK_GB: 1 }, requestGroups, sameSubtrees: [['_cpu', '_gpu']] }, [uuid]);
  expect(await allocationsOf(uuid)).toMatchObject({ [near]: { VCPU: 1 }, [gpuNear]: { VGPU: 1 } });
});

it('gives each instance of a batch the next way that a host has, until there is none', async () => {
  await nestedHost('nested', 3, NUMA);
  const scheduler = await world.scheduler();
  const spec = { resources: { DISK_GB: 1 }, requestGroups: [group('_0', { VCPU: 4 })] };
  expect(hostsOf(await scheduler.select(spec, 3))).toEqual(['nested', 'nested', 'nested']);
  const { response } = await scheduler.select(spec);
  expect(response.noValidHost?.filters).toEqual([{ filter: 'capacity', refused: 1, reasons: { capacity_vcpu: 1 } }]);
});

it('takes all that a provider has free though another of the same host is over-committed', async () => {
  const [over = '', whole = ''] = await nestedHost('nested', 2, NUMA);
  await take(over, { VCPU: 4 });
  await mustCommit(world.placement, {
    kind: 'write_inventories',
    providerUuid: over,
    inventories: { VCPU: inventory(3) },
    generation: undefined,
    replace: true,
  });
  const scheduler = await world.scheduler();
  const uuid = randomUUID();
  expect(hostsOf(await scheduler.select({ resources: { VCPU: 4 } }, [uuid]))).toEqual(['nested']);
  expect(await allocationsOf(uuid)).toEqual({ [whole]: { VCPU: 4 } });
});

it('tries the other ways of a host when somebody took the first', async () => {
  const children = await nestedHost('nested', 2, { VGPU: inventory(1) });
  const schedulers = [await world.scheduler(), await world.scheduler()];
  const spec = { resources: { DISK_GB: 1 }, requestGroups: [group('_0', { VGPU: 1 })] };
  const uuids = [randomUUID(), randomUUID()];
  const selected = await Promise.all(schedulers.map((scheduler, i) => scheduler.select(spec, [uuids[i] ?? ''])));
  expect(selected.flatMap(hostsOf)).toEqual(['nested', 'nested']);
  expect(selected.reduce((sum, { conflicts }) => sum + conflicts, 0)).toBe(1);
  const used = await Promise.all(uuids.map(allocationsOf));
  const devices = used.flatMap((allocations) => Object.keys(allocations ?? {})).filter((one) => children.includes(one));
  expect(devices.toSorted()).toEqual(children.toSorted());
});

it('refuses a host that has enough in all but not where it is needed, says so, and finds out once', async () => {
  const [first = '', second = ''] = await nestedHost('split', 2, NUMA);
  await take(first, { VCPU: 4 });
  await take(second, { MEMORY_MB: 4_096 });
  const scheduler = await world.scheduler();
  const spec = { resources: { DISK_GB: 1 }, requestGroups: [group('_0', { VCPU: 2, MEMORY_MB: 1_024 })] };
  const { response } = await scheduler.select(spec);
  expect(response.noValidHost).toMatchObject({
    hostsPassed: 0,
    filters: [{ filter: 'candidates', refused: 1, reasons: { no_candidate: 1 } }],
  });
  expect(scheduler.explain(spec, 'split').hosts[0]?.refusals).toEqual([
    'candidates: no providers of the host give all groups what they ask: none meets _0: 1024 MEMORY_MB, 2 VCPU',
  ]);
});

it('takes disk from a pool that is shared, follows what others take of it, and gives hosts back that it frees', async () => {
  const pool = await provider('pool', { DISK_GB: inventory(100) });
  const about = { providerUuid: pool, generation: undefined } as const;
  await mustCommit(world.placement, { kind: 'write_traits', traits: [SHARING_TRAIT], ...about });
  await mustCommit(world.placement, { kind: 'write_aggregates', aggregates: [POOL], ...about });
  for (const host of ['a', 'b']) await world.report(host, { inventories: { VCPU: inventory(8) }, aggregates: [POOL] });
  await world.report('outside', { inventories: { VCPU: inventory(8) } });
  const scheduler = await world.scheduler();
  const spec = { resources: { VCPU: 1, DISK_GB: 40 } };
  const uuids = [randomUUID(), randomUUID()];
  const selected = await scheduler.select(spec, uuids);
  expect(hostsOf(selected).sort()).toEqual(['a', 'b']);
  expect((await allocationsOf(uuids[0] ?? ''))?.[pool]).toEqual({ DISK_GB: 40 });
  const { response } = await scheduler.select(spec);
  expect(response.noValidHost?.filters).toEqual([
    { filter: 'capacity', refused: 3, reasons: { capacity_disk_gb: 2, no_inventory_disk_gb: 1 } },
  ]);
  const [gone] = selected.response.destinations;
  const release = {
    kind: 'release_claim',
    consumerUuid: gone?.instanceUuid ?? '',
    claimToken: gone?.claimToken ?? 0,
  } as const;
  await mustCommit(world.placement, release);
  await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  expect(hostsOf(await scheduler.select(spec))).toHaveLength(1);
});

it('of an affinity batch, skips a host whose sum would do but whose providers do not', async () => {
  await nestedHost('three', 3, { VGPU: inventory(3, { maxUnit: 2 }) });
  await nestedHost('four', 2, { VGPU: inventory(4, { maxUnit: 2 }) });
  const scheduler = await world.scheduler();
  const spec = {
    resources: { DISK_GB: 1 },
    requestGroups: [group('_0', { VGPU: 2 })],
    group: { id: 'g', policy: 'affinity', maxPerHost: 1 } as const,
  };
  expect(hostsOf(await scheduler.select(spec, 4))).toEqual(['four', 'four', 'four', 'four']);
});

it('refuses when the only host that passes the filters has a member of the soft group and no candidate', async () => {
  const [child = ''] = await nestedHost('nested', 1, { VCPU: inventory(4) });
  const soft = { id: 'g', policy: 'soft-affinity', maxPerHost: 1 } as const;
  const member = aWrite({ [child]: { VCPU: 1 } }, { group: { group: soft, host: 'nested' } });
  await mustCommit(world.placement, { kind: 'write_allocations', consumers: [member] });
  const scheduler = await world.scheduler();
  const groups = [group('_0', { VCPU: 1 }), group('_1', { VCPU: 1 })];
  const spec = { resources: { DISK_GB: 1 }, requestGroups: groups, groupPolicy: 'isolate', group: soft } as const;
  const { response } = await scheduler.select(spec);
  expect(response.noValidHost).toMatchObject({ hostsPassed: 0 });
});

describe('what an agent reports below its host', () => {
  const nestedUuid = (name: string) => nestedProviderUuid(uuidOfHost('tree'), name);
  /** A host with two NUMA nodes and a GPU at one of them, or none. */
  const report = (gpuAt: 'numa0' | 'numa1' | 'nowhere') => {
    const one = (name: string, parent: string, inventories: Inventories) => {
      const parentUuid = parent === '' ? uuidOfHost('tree') : nestedUuid(parent);
      return { uuid: nestedUuid(name), name: `tree:${name}`, parentUuid, inventories, traits: [] };
    };
    const gpu = gpuAt === 'nowhere' ? [] : [one('gpu', gpuAt, { VGPU: inventory(2) })];
    const nested = [one('numa0', '', NUMA), one('numa1', '', NUMA), ...gpu];
    return world.report('tree', { inventories: { DISK_GB: inventory(100) }, nested });
  };
  const near = {
    resources: { DISK_GB: 1 },
    requestGroups: [group('_cpu', { VCPU: 3 }), group('_gpu', { VGPU: 1 })],
    sameSubtrees: [['_cpu', '_gpu']],
  };

  it('is claimed and explained as it is reported, a device at another node from then on too', async () => {
    await report('numa0');
    const scheduler = await world.scheduler();
    const [first, second] = [randomUUID(), randomUUID()];
    expect(hostsOf(await scheduler.select(near, [first]))).toEqual(['tree']);
    expect(await allocationsOf(first)).toMatchObject({
      [nestedUuid('numa0')]: { VCPU: 3 },
      [nestedUuid('gpu')]: { VGPU: 1 },
    });
    expect(scheduler.explain(near, 'tree').hosts[0]).toMatchObject({ passed: false });
    await report('numa1');
    await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
    expect(scheduler.explain(near, 'tree').hosts[0]).toMatchObject({ passed: true, refusals: [] });
    expect(hostsOf(await scheduler.select(near, [second]))).toEqual(['tree']);
    expect(await allocationsOf(second)).toMatchObject({ [nestedUuid('numa1')]: { VCPU: 3 } });
  });

  it('is resized in place wherever the difference fits: at its own node with its device, else at the other', async () => {
    await report('numa0');
    const scheduler = await world.scheduler();
    const who = { projectId: 'project-1', userId: 'user-1' };
    const uuid = randomUUID();
    const { response } = await scheduler.select({ ...near, ...who }, [uuid]);
    const claimToken = response.destinations[0]?.claimToken ?? 0;
    const migrationUuid = migrationUuidOf(uuid);
    const resize = (vcpus: number, sameSubtrees: typeof near.sameSubtrees) => {
      const requestGroups = [group('_cpu', { VCPU: vcpus }), group('_gpu', { VGPU: 1 })];
      const wanted = { ...near, ...who, requestGroups, sameSubtrees };
      return scheduler.move(wanted, uuid, { migrationUuid, claimToken, sourceHost: 'tree' });
    };
    expect(hostsOf(await resize(5, near.sameSubtrees))).toEqual([]);
    await take(nestedUuid('numa0'), { VCPU: 1 });
    await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
    expect(hostsOf(await resize(4, near.sameSubtrees))).toEqual([]);
    expect(await allocationsOf(uuid)).toMatchObject({ [nestedUuid('numa0')]: { VCPU: 3 } });
    expect(hostsOf(await resize(2, near.sameSubtrees))).toEqual(['tree']);
    expect(await allocationsOf(uuid)).toMatchObject({
      [nestedUuid('numa0')]: { VCPU: 2 },
      [nestedUuid('gpu')]: { VGPU: 1 },
    });
    expect(listOverAllocated(scheduler.mirror).overAllocated).toEqual([]);
  });

  it('is resized in place at the other node where its own has too little, and its device counts once', async () => {
    await report('numa0');
    const scheduler = await world.scheduler();
    const who = { projectId: 'project-1', userId: 'user-1' };
    const uuid = randomUUID();
    const both = { ...near, ...who, requestGroups: [group('_cpu', { VCPU: 3 }), group('_gpu', { VGPU: 2 })] };
    const { response } = await scheduler.select(both, [uuid]);
    await take(nestedUuid('numa0'), { VCPU: 1 });
    await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
    const wanted = {
      ...both,
      requestGroups: [group('_cpu', { VCPU: 4 }), group('_gpu', { VGPU: 2 })],
      sameSubtrees: [],
    };
    const claimToken = response.destinations[0]?.claimToken ?? 0;
    const move = { migrationUuid: migrationUuidOf(uuid), claimToken, sourceHost: 'tree' };
    expect(hostsOf(await scheduler.move(wanted, uuid, move))).toEqual(['tree']);
    expect(await allocationsOf(uuid)).toMatchObject({
      [nestedUuid('numa1')]: { VCPU: 4 },
      [nestedUuid('gpu')]: { VGPU: 2 },
    });
    expect(await allocationsOf(move.migrationUuid)).toEqual({ [nestedUuid('numa0')]: { VCPU: 3 } });
    expect(listOverAllocated(scheduler.mirror).overAllocated).toEqual([]);
  });

  it('is not selected once it is gone, and what runs on it keeps its claim and is shown', async () => {
    await report('numa0');
    const scheduler = await world.scheduler();
    const held = randomUUID();
    await scheduler.select(near, [held]);
    await report('nowhere');
    await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
    const spec = { resources: { VGPU: 1 } };
    expect(hostsOf(await scheduler.select(spec))).toEqual([]);
    expect(scheduler.explain(spec, 'tree').hosts[0]?.passed).toBe(false);
    expect(await allocationsOf(held)).toMatchObject({ [nestedUuid('gpu')]: { VGPU: 1 } });
    const host = scheduler.mirror.host('tree');
    expect(host && summarise(scheduler.mirror, host, NO_QUARANTINES)).toMatchObject({
      instances: 1,
      resources: {
        VCPU: { inventory: { total: 8 }, used: 3 },
        VGPU: { inventory: { total: 2, reserved: 2 }, used: 1 },
      },
    });
    expect(listOverAllocated(scheduler.mirror).overAllocated).toMatchObject([
      { providerName: 'tree:gpu', host: 'tree', resourceClass: 'VGPU', used: 1, capacity: 0 },
    ]);
  });
});
