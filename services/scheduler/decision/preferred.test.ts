import { randomUUID } from 'node:crypto';
import { inventory } from '#libs/domain/inventory';
import { SHARING_TRAIT } from '#libs/domain/provider';
import { mustCommit } from '#libs/testing/placement/placement';
import { aWorld, hostsOf, INVENTORIES, opened, type TestScheduler, uuidOfHost, type World } from '../testing/world';

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

const WITH_GPU = { ...INVENTORIES, VGPU: inventory(1) };
const LIKES_GPU = { resources: { VCPU: 1 }, preferredResources: { VGPU: 1 } };

async function claimOf(uuid: string) {
  const [consumer] = await world.placement.consumers([uuid]);
  return consumer?.allocations;
}

/** The revision of the store, in the mirror of a scheduler. */
async function caughtUp(scheduler: TestScheduler): Promise<void> {
  await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
}

/** A child provider of a host. */
async function child(host: string, name: string, resourceClass: string, total: number, traits: readonly string[] = []) {
  const uuid = randomUUID();
  const about = { providerUuid: uuid, generation: undefined } as const;
  const inventories = { [resourceClass]: inventory(total) };
  await mustCommit(world.placement, { kind: 'put_provider', uuid, name, parentUuid: uuidOfHost(host), mode: 'create' });
  await mustCommit(world.placement, { kind: 'write_inventories', inventories, replace: true, ...about });
  await mustCommit(world.placement, { kind: 'write_traits', traits, ...about });
  return uuid;
}

it('claims what is preferred where a host has it, so that no two instances count on one GPU', async () => {
  await world.report('a', { inventories: WITH_GPU });
  await world.report('b', { inventories: WITH_GPU });
  await world.report('plain');
  const scheduler = await world.scheduler();
  const uuids = [randomUUID(), randomUUID(), randomUUID()];
  const hosts = hostsOf(await scheduler.select(LIKES_GPU, uuids));
  expect(hosts.slice(0, 2).sort()).toEqual(['a', 'b']);
  for (const [i, uuid] of uuids.entries()) {
    const gpu = i < 2 ? { VGPU: 1 } : {};
    expect(await claimOf(uuid)).toEqual({ [uuidOfHost(hosts[i] as string)]: { VCPU: 1, ...gpu } });
  }
});

it('claims it once when schedulers decide at the same time', async () => {
  await world.report('only', { inventories: WITH_GPU });
  const schedulers = [await world.scheduler(), await world.scheduler()];
  const uuids = [randomUUID(), randomUUID()];
  await Promise.all(schedulers.map((scheduler, i) => scheduler.select(LIKES_GPU, [uuids[i] as string])));
  const claims = await Promise.all(uuids.map(claimOf));
  const gpus = claims.map((claim) => claim?.[uuidOfHost('only')]?.['VGPU'] ?? 0);
  expect(gpus.toSorted((a, b) => a - b)).toEqual([0, 1]);
});

it('claims whole amounts only, and of a class that is required as well, both together', async () => {
  await world.report('a', { inventories: { VCPU: inventory(8, { maxUnit: 4 }), VGPU: inventory(3) } });
  const scheduler = await world.scheduler();
  const [both, tooMany] = [randomUUID(), randomUUID()];
  await scheduler.select({ resources: { VCPU: 2 }, preferredResources: { VCPU: 2, VGPU: 4 } }, [both]);
  expect(await claimOf(both)).toEqual({ [uuidOfHost('a')]: { VCPU: 4 } });
  await scheduler.select({ resources: { VCPU: 2 }, preferredResources: { VCPU: 3, VGPU: 3 } }, [tooMany]);
  expect(await claimOf(tooMany)).toEqual({ [uuidOfHost('a')]: { VCPU: 2, VGPU: 3 } });
});

it('gives alternates allocation requests with what is preferred there, and without it', async () => {
  await world.report('a', { inventories: WITH_GPU });
  await world.report('b', { inventories: WITH_GPU });
  await world.report('plain');
  const scheduler = await world.scheduler();
  const { response } = await scheduler.select(LIKES_GPU, 1, 2);
  const [destination] = response.destinations;
  const [gpu, plain] = destination?.alternates ?? [];
  const said = (sealed: Uint8Array | undefined) => sealed && Object.values(opened(scheduler, sealed).allocations)[0];
  expect(destination?.selected.requiredAllocationRequest).toBeUndefined();
  expect(said(gpu?.allocationRequest)).toEqual({ VCPU: 1, VGPU: 1 });
  expect(said(gpu?.requiredAllocationRequest)).toEqual({ VCPU: 1 });
  expect(plain?.host).toBe('plain');
  expect(said(plain?.allocationRequest)).toEqual({ VCPU: 1 });
  expect(plain?.requiredAllocationRequest).toBeUndefined();
});

it('never refuses for a preference: when it would leave an instance of the request without a host, none is claimed', async () => {
  await world.report('a', { inventories: { VCPU: inventory(4) } });
  const scheduler = await world.scheduler();
  const uuids = Array.from({ length: 4 }, () => randomUUID());
  const spec = { resources: { VCPU: 1 }, preferredResources: { VCPU: 1 } };
  expect(hostsOf(await scheduler.select(spec, uuids))).toHaveLength(4);
  for (const uuid of uuids) expect(await claimOf(uuid)).toEqual({ [uuidOfHost('a')]: { VCPU: 1 } });
});

it('keeps a batch on one host together, whatever its instances prefer', async () => {
  const group = { id: 'g', policy: 'affinity', maxPerHost: 1 } as const;
  await world.report('flat', { inventories: { VCPU: inventory(2), VGPU: inventory(1) } });
  await world.report('nested', { inventories: { DISK_GB: inventory(1) } });
  await child('nested', 'numa', 'VCPU', 3);
  await child('nested', 'gpus', 'VGPU', 2);
  const scheduler = await world.scheduler();
  const uuids = [randomUUID(), randomUUID()];
  const selected = await scheduler.select({ ...LIKES_GPU, group }, uuids);
  expect(hostsOf(selected)).toEqual(['nested', 'nested']);
  for (const uuid of uuids) expect(Object.values((await claimOf(uuid)) ?? {})).toContainEqual({ VGPU: 1 });
});

it('weighs what providers give, not what their sums promise', async () => {
  await world.report('promises', { inventories: { VCPU: inventory(80) } });
  await child('promises', 'licensed gpu', 'VGPU', 1, ['HW_CPU_X86_AVX']);
  await world.report('gives', { inventories: { VCPU: inventory(8) } });
  const gpu = await child('gives', 'gpu', 'VGPU', 1);
  const scheduler = await world.scheduler();
  const spec = { ...LIKES_GPU, forbiddenTraits: ['HW_CPU_X86_AVX'] };
  expect(scheduler.explain(spec).hosts.map(({ host, weights }) => [host, weights['preferred_resources']])).toEqual([
    ['gives', 4],
    ['promises', 0],
  ]);
  const uuids = [randomUUID(), randomUUID()];
  expect(hostsOf(await scheduler.select(spec, uuids))).toEqual(['gives', 'promises']);
  expect(await claimOf(uuids[0] as string)).toEqual({ [uuidOfHost('gives')]: { VCPU: 1 }, [gpu]: { VGPU: 1 } });
  expect(await claimOf(uuids[1] as string)).toEqual({ [uuidOfHost('promises')]: { VCPU: 1 } });
});

it('does not make a host of one that gives nothing of what is required', async () => {
  const aggregates = ['aaaaaaaa-0000-4000-8000-000000000001'];
  await world.report('pool', { inventories: { MEMORY_MB: inventory(64) }, traits: [SHARING_TRAIT], aggregates });
  await world.report('gpus', { inventories: { VGPU: inventory(1) }, aggregates });
  const scheduler = await world.scheduler();
  const spec = { resources: { MEMORY_MB: 1 }, preferredResources: { VGPU: 1 } };
  expect(scheduler.explain(spec, 'gpus').hosts[0]?.passed).toBe(false);
  expect(hostsOf(await scheduler.select(spec))).toEqual(['pool']);
});

it('asked again, an instance keeps what was claimed for it, with what it prefers or without', async () => {
  await world.report('a', { inventories: WITH_GPU });
  const scheduler = await world.scheduler();
  const [first, second] = [randomUUID(), randomUUID()];
  await scheduler.select(LIKES_GPU, [first, second]);
  const before = [await claimOf(first), await claimOf(second)];
  await world.report('b', { inventories: { ...WITH_GPU, VCPU: inventory(80) } });
  await caughtUp(scheduler);
  expect(hostsOf(await scheduler.select(LIKES_GPU, [first, second]))).toEqual(['a', 'a']);
  expect([await claimOf(first), await claimOf(second)]).toEqual(before);
  // Half of what is preferred was never claimed for it: that is another request's claim, and is replaced.
  await scheduler.select({ ...LIKES_GPU, preferredResources: { VGPU: 2 } }, [first]);
  expect(await claimOf(first)).toEqual({ [uuidOfHost('b')]: { VCPU: 1 } });
});
