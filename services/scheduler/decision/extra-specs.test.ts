import { randomUUID } from 'node:crypto';
import { type Inventories, inventory } from '#libs/domain/inventory';
import { mustCommit } from '#libs/testing/placement/placement';
import { aWorld, hostsOf, uuidOfHost, type World } from '../testing/world';

/* Extra specs end to end: from the request to the claim, or to the reason of the refusal. */

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

async function provider(name: string, inventories: Inventories, traits: readonly string[], parentUuid: string) {
  const uuid = randomUUID();
  const about = { providerUuid: uuid, generation: undefined } as const;
  for (const trait of traits.filter((one) => one.startsWith('CUSTOM_'))) {
    await world.placement.commit({ kind: 'create_name', atMs: 0, catalogue: 'trait', name: trait });
  }
  await mustCommit(world.placement, { kind: 'put_provider', uuid, name, parentUuid, mode: 'create' });
  await mustCommit(world.placement, { kind: 'write_inventories', inventories, replace: true, ...about });
  await mustCommit(world.placement, { kind: 'write_traits', traits, ...about });
  return uuid;
}

/** A host with so many NUMA nodes of 4 processors and 4 GiB, half of it in pages of 2 MiB. */
async function numaHost(host: string, nodeCount: number) {
  await world.report(host, { inventories: { DISK_GB: inventory(100) } });
  const nodes: { readonly numa: string; readonly pages: string }[] = [];
  for (let i = 0; i < nodeCount; i++) {
    const has = { PCPU: inventory(4), VCPU: inventory(4), MEMORY_MB: inventory(2_048) };
    const numa = await provider(`${host} numa ${i}`, has, ['HW_NUMA_ROOT'], uuidOfHost(host));
    const paged = { MEMORY_MB: inventory(2_048, { stepSize: 2 }) };
    const pages = await provider(`${host} pages ${i}`, paged, ['CUSTOM_MEMORY_PAGE_SIZE_2048'], numa);
    nodes.push({ numa, pages });
  }
  return nodes;
}

async function claimOf(uuid: string) {
  const [consumer] = await world.placement.consumers([uuid]);
  return consumer;
}

it('takes each NUMA node of an instance from a NUMA node of its own, with the mappings to show for it', async () => {
  const nodes = await numaHost('numa', 2);
  const scheduler = await world.scheduler();
  const uuid = randomUUID();
  const resources = { VCPU: 4, MEMORY_MB: 2_048, DISK_GB: 10 };
  const extraSpecs = { 'hw:numa_nodes': '2', 'hw:cpu_policy': 'dedicated' };
  expect(hostsOf(await scheduler.select({ resources, extraSpecs }, [uuid]))).toEqual(['numa']);
  const claim = await claimOf(uuid);
  const half = { PCPU: 2, MEMORY_MB: 1_024 };
  expect(claim?.allocations).toEqual({
    [uuidOfHost('numa')]: { DISK_GB: 10 },
    ...Object.fromEntries(nodes.map(({ numa }) => [numa, half])),
  });
  const mapped = [claim?.mappings['_numa0'], claim?.mappings['_numa1']].flat();
  expect(new Set(mapped)).toEqual(new Set(nodes.map(({ numa }) => numa)));
});

it('takes memory in large pages from below the node of the processors', async () => {
  await numaHost('far', 1);
  const [, second] = await numaHost('numa', 2);
  const scheduler = await world.scheduler();
  const spec = { resources: { VCPU: 3, MEMORY_MB: 2_048 }, extraSpecs: { 'hw:mem_page_size': '2MB' } };
  const uuids = [randomUUID(), randomUUID(), randomUUID()];
  expect(hostsOf(await scheduler.select(spec, uuids)).toSorted()).toEqual(['far', 'numa', 'numa']);
  const claims = await Promise.all(uuids.map(async (uuid) => (await claimOf(uuid))?.allocations));
  expect(claims).toContainEqual({ [second?.numa ?? '']: { VCPU: 3 }, [second?.pages ?? '']: { MEMORY_MB: 2_048 } });
});

it('says which extra spec refuses a host: traits, amounts and groups', async () => {
  await world.report('flat', { inventories: { VCPU: inventory(4), MEMORY_MB: inventory(4_096) } });
  const scheduler = await world.scheduler();
  const why = (extraSpecs: Readonly<Record<string, string>>) => {
    const { diagnosis, hosts } = scheduler.explain({ resources: { VCPU: 2 }, extraSpecs }, 'flat');
    return [...(hosts[0]?.refusals ?? []), diagnosis.summary];
  };
  expect(why({ 'trait:HW_CPU_X86_AVX2': 'required' })).toEqual([
    'traits: wants trait HW_CPU_X86_AVX2 (extra spec trait:HW_CPU_X86_AVX2), the host lacks it',
    'nobody offers trait HW_CPU_X86_AVX2. 0 of 1 host fit: 1 lacks trait HW_CPU_X86_AVX2 (extra spec trait:HW_CPU_X86_AVX2) (missing_trait_hw_cpu_x86_avx2)',
  ]);
  expect(why({ 'resources:VGPU': '1' })[0]).toBe(
    'capacity: wants 1 VGPU (extra spec resources:VGPU), the host has none',
  );
  expect(why({ 'hw:cpu_policy': 'dedicated' })[0]).toBe(
    'capacity: wants 2 PCPU (extra spec hw:cpu_policy), the host has none',
  );
  expect(why({ 'hw:numa_nodes': '1' })).toEqual([
    'candidates: no providers of the host give all groups what they ask: none meets _numa0: 2 VCPU (extra spec hw:numa_nodes)',
    '0 of 1 host fit: 1 has no providers that give all groups what they ask (_numa0: 2 VCPU) (extra spec hw:numa_nodes) (no_candidate)',
  ]);
});

it('lands only where the traits of threads, emulators and real time are, and says which extra spec or image property asks', async () => {
  const inventories = { PCPU: inventory(8), MEMORY_MB: inventory(4_096) };
  await world.report('plain', { inventories });
  await world.report('threads', { inventories, traits: ['HW_CPU_HYPERTHREADING'] });
  const able = ['CUSTOM_COMPUTE_EMULATOR_THREADS', 'CUSTOM_COMPUTE_CPU_REALTIME'];
  await world.report('able', { inventories, traits: able });
  const scheduler = await world.scheduler();
  const select = async (extraSpecs: Readonly<Record<string, string>>, imageProperties = {}) => {
    const resources = { VCPU: 2, MEMORY_MB: 128 };
    const all = { 'hw:cpu_policy': 'dedicated', ...extraSpecs };
    return hostsOf(await scheduler.select({ resources, extraSpecs: all, imageProperties }, 1, 2)).toSorted();
  };
  const feasible = (extraSpecs: Readonly<Record<string, string>>, imageProperties = {}) => {
    const all = { 'hw:cpu_policy': 'dedicated', ...extraSpecs };
    const { hosts } = scheduler.explain({ resources: { VCPU: 2 }, extraSpecs: all, imageProperties });
    return hosts.flatMap(({ host, passed }) => (passed ? [host] : [])).toSorted();
  };
  expect(feasible({ 'hw:cpu_thread_policy': 'require' })).toEqual(['threads']);
  expect(feasible({}, { hw_cpu_thread_policy: 'isolate' })).toEqual(['able', 'plain']);
  expect(feasible({ 'hw:cpu_realtime': 'yes', 'hw:cpu_realtime_mask': '^0' })).toEqual(['able']);
  expect(await select({ 'hw:emulator_threads_policy': 'isolate' })).toEqual(['able']);
  const resources = { VCPU: 2 };
  const extraSpecs = { 'hw:cpu_policy': 'dedicated' };
  const why = (imageProperties: Readonly<Record<string, string>>, more: Readonly<Record<string, string>> = {}) =>
    scheduler.explain({ resources, extraSpecs: { ...extraSpecs, ...more }, imageProperties }, 'threads').hosts[0]
      ?.refusals;
  expect(why({ hw_cpu_thread_policy: 'isolate' })).toEqual([
    'traits: forbids trait HW_CPU_HYPERTHREADING on the root provider (image property hw_cpu_thread_policy), the host has it',
  ]);
  expect(why({}, { 'hw:emulator_threads_policy': 'share' })).toEqual([
    'traits: wants trait CUSTOM_COMPUTE_EMULATOR_THREADS on the root provider (extra spec hw:emulator_threads_policy), the host lacks it',
  ]);
});

it('a request that spells a thing out is not told of extra specs', async () => {
  await world.report('flat');
  const scheduler = await world.scheduler();
  const spelledOut = { requiredTraits: ['HW_CPU_X86_AVX2'] };
  scheduler.explain({ extraSpecs: { 'trait:HW_CPU_X86_AVX2': 'required' } }, 'flat');
  expect(scheduler.explain(spelledOut, 'flat').hosts[0]?.refusals).toEqual([
    'traits: wants trait HW_CPU_X86_AVX2, the host lacks it',
  ]);
});
