import * as fc from 'fast-check';
import { aRequestSpec } from '../../testing/instances/request-spec';
import type { DeviceAlternative } from '../devices/device-request';
import { BerthError } from '../errors';
import type { RequestSpec } from '../request-spec';
import { parseCpuSet } from './cpu-set';
import { resolveSpec } from './resolve';

const SMALL = { VCPU: 4, MEMORY_MB: 8_192, DISK_GB: 20 };

function resolve(extraSpecs: Readonly<Record<string, string>>, fields: Partial<RequestSpec> = {}) {
  return resolveSpec(aRequestSpec({ resources: SMALL, extraSpecs, ...fields }), 'request_spec');
}

/** Reason and field of the refusal; undefined without one. */
function refusal(extraSpecs: Readonly<Record<string, string>>, fields: Partial<RequestSpec> = {}) {
  try {
    resolve(extraSpecs, fields);
    return undefined;
  } catch (thrown) {
    const { code, reason, details } = BerthError.from(thrown);
    return [code === 'invalid_argument' ? reason : code, details['field']?.replace('request_spec.extra_specs.', '')];
  }
}

function alternativeOf(fields: Partial<DeviceAlternative>): DeviceAlternative {
  return { name: '', count: 1, selectors: [], tolerations: {}, capacity: {}, ...fields };
}

/** The groups as `suffix: classes and traits`. */
function groupsOf(spec: RequestSpec) {
  return Object.fromEntries(
    spec.requestGroups.map(({ suffix, resources, requiredTraits }) => [suffix, [resources, requiredTraits.flat()]]),
  );
}

it('a request without extra specs asks what it spells out', () => {
  expect(resolve({})).toEqual({
    ...aRequestSpec({ resources: SMALL }),
    origins: { resources: {}, traits: {}, groups: {} },
  });
});

it('amounts replace those of the flavor, and 0 takes a class away', () => {
  const extraSpecs = { 'resources:VCPU': '0', 'resources:MEMORY_MB': '0', 'resources:CUSTOM_BAREMETAL_GOLD': '1' };
  expect(resolve(extraSpecs).resources).toEqual({ DISK_GB: 20, CUSTOM_BAREMETAL_GOLD: 1 });
  expect(resolve(extraSpecs).origins.resources['CUSTOM_BAREMETAL_GOLD']).toEqual(['resources:CUSTOM_BAREMETAL_GOLD']);
  expect(refusal({ 'resources:VCPU': '0' }, { resources: { VCPU: 1 } })).toEqual([
    'missing_field',
    'request_spec.resources',
  ]);
});

it('traits are required, forbidden or preferred, and classes required or preferred', () => {
  const spec = resolve(
    {
      'trait:HW_CPU_X86_AVX2': 'required',
      'trait:CUSTOM_OLD': 'forbidden',
      'trait:CUSTOM_FAST': 'preferred',
      'preferred_resources:VGPU': '1',
    },
    { requiredTraits: ['CUSTOM_MINE'] },
  );
  expect(spec).toMatchObject({
    requiredTraits: ['CUSTOM_MINE', 'HW_CPU_X86_AVX2'],
    forbiddenTraits: ['CUSTOM_OLD'],
    preferredTraits: ['CUSTOM_FAST'],
    preferredResources: { VGPU: 1 },
    resources: SMALL,
  });
});

it('numbered and named groups are each met by one provider, under a policy', () => {
  const one = {
    'resources1:VGPU': '1',
    'trait1:HW_GPU_API_VULKAN': 'required',
    'trait1:CUSTOM_OLD': 'forbidden',
  };
  const spec = resolve(one);
  expect(groupsOf(spec)).toEqual({ 1: [{ VGPU: 1 }, ['HW_GPU_API_VULKAN']] });
  expect(spec.requestGroups[0]?.forbiddenTraits).toEqual(['CUSTOM_OLD']);
  expect(spec.groupPolicy).toBe('none');
  const two = { ...one, 'resources_NET:SRIOV_NET_VF': '1' };
  expect(refusal(two)).toEqual(['conflicting_extra_specs', 'group_policy']);
  expect(resolve({ ...two, group_policy: 'isolate' }).groupPolicy).toBe('isolate');
  expect(resolve({ ...two, group_policy: 'none' }, { groupPolicy: 'isolate' }).groupPolicy).toBe('isolate');
  expect(resolve({ ...two, group_policy: 'none' }).origins.groups).toEqual({
    1: ['resources1:VGPU', 'trait1:HW_GPU_API_VULKAN', 'trait1:CUSTOM_OLD'],
    _NET: ['resources_NET:SRIOV_NET_VF'],
  });
});

it('dedicated processors are PCPU, mixed ones those of the mask', () => {
  expect(resolve({ 'hw:cpu_policy': 'dedicated' }).resources).toEqual({ PCPU: 4, MEMORY_MB: 8_192, DISK_GB: 20 });
  expect(resolve({ 'hw:cpu_policy': 'shared' }).resources).toEqual(SMALL);
  const mixed = { 'hw:cpu_policy': 'mixed', 'hw:cpu_dedicated_mask': '^0' };
  expect(resolve(mixed).resources).toEqual({ PCPU: 3, VCPU: 1, MEMORY_MB: 8_192, DISK_GB: 20 });
});

it('threads of cores are a trait of the host, required or forbidden', () => {
  const dedicated = { 'hw:cpu_policy': 'dedicated' };
  const rootTraits = (extraSpecs: Readonly<Record<string, string>>, fields: Partial<RequestSpec> = {}) => {
    const { rootRequiredTraits, rootForbiddenTraits } = resolve({ ...dedicated, ...extraSpecs }, fields);
    return [rootRequiredTraits, rootForbiddenTraits];
  };
  expect(rootTraits({ 'hw:cpu_thread_policy': 'require' })).toEqual([['HW_CPU_HYPERTHREADING'], []]);
  expect(rootTraits({ 'hw:cpu_thread_policy': 'isolate' })).toEqual([[], ['HW_CPU_HYPERTHREADING']]);
  expect(rootTraits({ 'hw:cpu_thread_policy': 'prefer' })).toEqual([[], []]);
  expect(resolve({ ...dedicated, 'hw:cpu_thread_policy': 'require' }).origins.traits).toEqual({
    HW_CPU_HYPERTHREADING: ['hw:cpu_thread_policy'],
  });
});

it('an isolated emulator takes a dedicated processor more, beside the first NUMA node', () => {
  const isolated = { 'hw:cpu_policy': 'dedicated', 'hw:emulator_threads_policy': 'isolate' };
  const flat = resolve(isolated);
  expect(flat).toMatchObject({ resources: { PCPU: 5 }, rootRequiredTraits: ['CUSTOM_COMPUTE_EMULATOR_THREADS'] });
  expect(flat.origins.resources['PCPU']).toEqual(['hw:cpu_policy', 'hw:emulator_threads_policy']);
  expect(groupsOf(resolve({ ...isolated, 'hw:numa_nodes': '2' }))).toMatchObject({
    _numa0: [{ PCPU: 3 }, ['HW_NUMA_ROOT']],
    _numa1: [{ PCPU: 2 }, ['HW_NUMA_ROOT']],
  });
  const shared = resolve({ ...isolated, 'hw:emulator_threads_policy': 'share' });
  expect(shared).toMatchObject({ resources: { PCPU: 4 }, rootRequiredTraits: ['CUSTOM_COMPUTE_EMULATOR_THREADS'] });
  expect(resolve({ 'hw:emulator_threads_policy': 'share' }).rootRequiredTraits).toEqual([]);
});

it('real-time processors are dedicated ones of a host that may schedule so, and with mixed their mask says which', () => {
  const realtime = { 'hw:cpu_realtime': 'yes', 'hw:cpu_realtime_mask': '^0' };
  expect(resolve({ ...realtime, 'hw:cpu_policy': 'dedicated' })).toMatchObject({
    resources: { PCPU: 4 },
    rootRequiredTraits: ['CUSTOM_COMPUTE_CPU_REALTIME'],
  });
  expect(resolve({ ...realtime, 'hw:cpu_policy': 'mixed' }).resources).toMatchObject({ PCPU: 3, VCPU: 1 });
  const all = { 'hw:cpu_policy': 'dedicated', 'hw:cpu_realtime': 'true' };
  expect(resolve({ ...all, 'hw:emulator_threads_policy': 'isolate' }).resources).toMatchObject({ PCPU: 5 });
  expect(resolve({ 'hw:cpu_realtime': 'no' }).rootRequiredTraits).toEqual([]);
});

it('an image says what its flavor leaves open', () => {
  const imageProperties = { hw_cpu_policy: 'dedicated', hw_cpu_thread_policy: 'require', hw_architecture: 'x86_64' };
  const spec = resolve({}, { imageProperties });
  expect(spec).toMatchObject({ resources: { PCPU: 4 }, rootRequiredTraits: ['HW_CPU_HYPERTHREADING'] });
  expect(spec.origins).toMatchObject({
    resources: { PCPU: ['hw_cpu_policy'] },
    traits: { HW_CPU_HYPERTHREADING: ['hw_cpu_thread_policy'] },
  });
  expect(spec.imageProperties).toEqual({ hw_architecture: 'x86_64' });
  expect(resolveSpec(spec, 'request_spec').resources).toEqual(spec.resources);
  const flavor = { 'hw:cpu_policy': 'dedicated', 'hw:cpu_thread_policy': 'prefer' };
  expect(resolve(flavor, { imageProperties }).rootRequiredTraits).toEqual([]);
  const realtime = { 'hw:cpu_policy': 'mixed', 'hw:cpu_realtime': 'yes', 'hw:cpu_realtime_mask': '^0' };
  const masked = resolve(realtime, { imageProperties: { hw_cpu_realtime_mask: '^0-1' } });
  expect(masked.resources).toMatchObject({ PCPU: 2, VCPU: 2 });
  expect(resolve({}, { imageProperties: { hw_cpu_realtime_mask: '^0' } }).rootRequiredTraits).toEqual([]);
});

it.each([
  [{ 'hw:cpu_policy': 'shared' }, { hw_cpu_policy: 'dedicated' }, 'conflicting_extra_specs', 'hw_cpu_policy'],
  [
    { 'hw:cpu_policy': 'mixed', 'hw:cpu_dedicated_mask': '0' },
    { hw_cpu_policy: 'dedicated' },
    'conflicting_extra_specs',
    'hw_cpu_policy',
  ],
  [
    { 'hw:cpu_policy': 'dedicated', 'hw:cpu_thread_policy': 'isolate' },
    { hw_cpu_thread_policy: 'require' },
    'conflicting_extra_specs',
    'hw_cpu_thread_policy',
  ],
  [{}, { hw_cpu_thread_policy: 'require' }, 'conflicting_extra_specs', 'hw_cpu_thread_policy'],
  [{}, { hw_cpu_policy: 'pinned' }, 'bad_extra_spec', 'hw_cpu_policy'],
  [
    { 'hw:cpu_policy': 'dedicated', 'hw:cpu_realtime': 'yes' },
    { hw_cpu_realtime_mask: '9' },
    'bad_extra_spec',
    'hw_cpu_realtime_mask',
  ],
  [
    { 'hw:pci_numa_affinity_policy': 'required' },
    { hw_pci_numa_affinity_policy: 'legacy' },
    'conflicting_extra_specs',
    'hw_pci_numa_affinity_policy',
  ],
] as const)('refuses %j of a flavor with %j of an image as %s of %s', (extraSpecs, imageProperties, reason, name) => {
  expect(refusal(extraSpecs as unknown as Record<string, string>, { imageProperties })).toEqual([
    reason,
    `request_spec.image_properties.${name}`,
  ]);
});

it('NUMA nodes take equal shares of processors and memory, each from a node of its own', () => {
  const spec = resolve({ 'hw:numa_nodes': '2', 'hw:cpu_policy': 'dedicated' });
  expect(spec.resources).toEqual({ DISK_GB: 20 });
  expect(groupsOf(spec)).toEqual({
    _numa0: [{ PCPU: 2, MEMORY_MB: 4_096 }, ['HW_NUMA_ROOT']],
    _numa1: [{ PCPU: 2, MEMORY_MB: 4_096 }, ['HW_NUMA_ROOT']],
  });
  expect(spec.groupPolicy).toBe('isolate');
  expect(spec.origins.resources['PCPU']).toEqual(['hw:cpu_policy', 'hw:numa_nodes']);
});

it('NUMA nodes take the shares that are said', () => {
  const said = {
    'hw:numa_nodes': '2',
    'hw:numa_cpus.0': '0',
    'hw:numa_cpus.1': '1-3',
    'hw:numa_mem.0': '2048',
    'hw:numa_mem.1': '6144',
    'hw:cpu_policy': 'mixed',
    'hw:cpu_dedicated_mask': '1-2',
  };
  expect(groupsOf(resolve(said))).toEqual({
    _numa0: [{ VCPU: 1, MEMORY_MB: 2_048 }, ['HW_NUMA_ROOT']],
    _numa1: [{ PCPU: 2, VCPU: 1, MEMORY_MB: 6_144 }, ['HW_NUMA_ROOT']],
  });
});

it('memory of a page size comes from a provider of its own below the NUMA node', () => {
  const spec = resolve({ 'hw:mem_page_size': '2MB' });
  expect(groupsOf(spec)).toEqual({
    _numa0: [{ VCPU: 4 }, ['HW_NUMA_ROOT']],
    _mem0: [{ MEMORY_MB: 8_192 }, ['CUSTOM_MEMORY_PAGE_SIZE_2048']],
  });
  expect(spec.sameSubtrees).toEqual([['_numa0', '_mem0']]);
  expect(spec.resources).toEqual({ DISK_GB: 20 });
  expect(groupsOf(resolve({ 'hw:mem_page_size': 'large' }))['_mem0']?.[1]).toEqual(['CUSTOM_MEMORY_PAGE_SIZE_LARGE']);
  expect(resolve({ 'hw:mem_page_size': 'any' }).resources).toEqual(SMALL);
});

it('devices are bound to NUMA nodes, whether they are asked in groups of their own or not', () => {
  const resources = { ...SMALL, PGPU: 1 };
  const spec = resolve(
    { 'hw:pci_numa_affinity_policy': 'legacy', 'hw:numa_nodes': '2', 'resources_NIC:SRIOV_NET_VF': '1' },
    { resources },
  );
  expect(groupsOf(spec)).toMatchObject({ _NIC: [{ SRIOV_NET_VF: 1 }, []], _pci0: [{ PGPU: 1 }, []] });
  expect(spec.resources).toEqual({ DISK_GB: 20 });
  expect(spec.deviceAffinity).toEqual({ policy: 'legacy', nodes: ['_numa0', '_numa1'], groups: ['_NIC', '_pci0'] });
  expect(spec.origins.affinity).toEqual(['hw:pci_numa_affinity_policy']);
});

it('devices that must be near make a NUMA node to be near to, other policies do not', () => {
  const [required, preferred] = ['required', 'preferred'].map((policy) =>
    resolve({}, { resources: { ...SMALL, VGPU: 1 }, imageProperties: { hw_pci_numa_affinity_policy: policy } }),
  );
  expect(required && groupsOf(required)['_numa0']).toEqual([{ VCPU: 4, MEMORY_MB: 8_192 }, ['HW_NUMA_ROOT']]);
  expect(required?.deviceAffinity).toMatchObject({ policy: 'required', nodes: ['_numa0'], groups: ['_pci0'] });
  expect(preferred?.deviceAffinity).toBeUndefined();
  expect(preferred?.resources).toEqual(SMALL);
  expect(resolve({ 'hw:pci_numa_affinity_policy': 'required' }).resources).toEqual(SMALL);
  const metal = { 'resources:VCPU': '0', 'resources:CUSTOM_GOLD': '1' };
  expect(resolve(metal, { imageProperties: { hw_pci_numa_affinity_policy: 'legacy' } }).resources).toMatchObject({
    CUSTOM_GOLD: 1,
  });
});

it('devices of extra specs join those of the request, and are as near as these', () => {
  const H100 = 'device.attributes.model in ["H100", "H200"]';
  const own = { name: 'nic', firstAvailable: [alternativeOf({})] };
  const extraSpecs = { 'device:gpu': `class=CUSTOM_GPU,count=2,tolerate=worn:*,select=${H100}` };
  const spec = resolve(
    { ...extraSpecs, 'hw:numa_nodes': '1', 'hw:pci_numa_affinity_policy': 'required' },
    { deviceRequests: [own] },
  );
  const asked = { resourceClass: 'CUSTOM_GPU', count: 2, selectors: [H100], tolerations: { worn: '*' } };
  expect(spec.deviceRequests).toEqual([own, { name: 'gpu', firstAvailable: [alternativeOf(asked)] }]);
  expect(spec.deviceAffinity).toEqual({ policy: 'required', nodes: ['_numa0'], groups: [] });
  expect(resolve(extraSpecs).deviceRequests).toHaveLength(1);
  const strange = { deviceRequests: [{ name: 'nic', firstAvailable: [alternativeOf({ resourceClass: 'NIC' })] }] };
  expect(refusal({}, strange)).toEqual([
    'unknown_resource_class',
    'request_spec.device_requests[0].first_available[0].resource_class',
  ]);
  const twice = { deviceRequests: [{ name: 'gpu', firstAvailable: [alternativeOf({})] }] };
  expect(refusal(extraSpecs, twice)).toEqual(['conflicting_extra_specs', 'device:gpu']);
  const many = { deviceRequests: [{ name: 'nic', firstAvailable: [alternativeOf({ count: 31 })] }] };
  expect(refusal(extraSpecs, many)).toEqual(['conflicting_extra_specs', 'device:gpu']);
});

it('facts of aggregates stay what the scheduler matches, and what drivers read asks nothing of a host', () => {
  const facts = { 'aggregate_instance_extra_specs:ssd': 'true', rack: '<or> r1 <or> r2' };
  expect(resolve({ ...facts, 'berth:command': '["sleep", "1"]' }).extraSpecs).toEqual(facts);
});

it.each([
  [{ 'hw:cpu_sockets': '2' }, 'unknown_extra_spec', 'hw:cpu_sockets'],
  [{ 'hw:numa_nodes ': '2' }, 'unknown_extra_spec', 'hw:numa_nodes '],
  [{ 'quota:cpu_shares': '2' }, 'unknown_extra_spec', 'quota:cpu_shares'],
  [{ 'capabilities:cpu_info': 'x' }, 'unknown_extra_spec', 'capabilities:cpu_info'],
  [{ 'berth:nothing': 'x' }, 'unknown_extra_spec', 'berth:nothing'],
  [{ 'traits:CUSTOM_A': 'required' }, 'unknown_extra_spec', 'traits:CUSTOM_A'],
  [{ 'preferred_resources1:VGPU': '1' }, 'unknown_extra_spec', 'preferred_resources1:VGPU'],
  [{ 'resources:VCPUS': '1' }, 'unknown_extra_spec', 'resources:VCPUS'],
  [{ 'trait:HW_CPU_X86_AVX9': 'required' }, 'unknown_extra_spec', 'trait:HW_CPU_X86_AVX9'],
  [{ 'trait:CUSTOM_A': 'yes' }, 'bad_extra_spec', 'trait:CUSTOM_A'],
  [{ 'resources:VGPU': '1.5' }, 'bad_extra_spec', 'resources:VGPU'],
  [{ 'resources1:VGPU': '0' }, 'bad_extra_spec', 'resources1:VGPU'],
  [{ 'resources1:VGPU': '1', 'trait1:CUSTOM_A': 'preferred' }, 'bad_extra_spec', 'trait1:CUSTOM_A'],
  [{ 'trait1:CUSTOM_A': 'required' }, 'conflicting_extra_specs', 'trait1:CUSTOM_A'],
  [{ group_policy: 'spread' }, 'bad_extra_spec', 'group_policy'],
  [{ 'hw:cpu_policy': 'pinned' }, 'bad_extra_spec', 'hw:cpu_policy'],
  [{ 'hw:cpu_policy': 'mixed' }, 'conflicting_extra_specs', 'hw:cpu_policy'],
  [{ 'hw:cpu_dedicated_mask': '0' }, 'conflicting_extra_specs', 'hw:cpu_dedicated_mask'],
  [{ 'hw:cpu_policy': 'mixed', 'hw:cpu_dedicated_mask': '0-3' }, 'bad_extra_spec', 'hw:cpu_dedicated_mask'],
  [{ 'hw:cpu_policy': 'dedicated', 'resources:PCPU': '2' }, 'conflicting_extra_specs', 'resources:PCPU'],
  [{ 'hw:cpu_thread_policy': 'require' }, 'conflicting_extra_specs', 'hw:cpu_thread_policy'],
  [{ 'hw:cpu_policy': 'dedicated', 'hw:cpu_thread_policy': 'pack' }, 'bad_extra_spec', 'hw:cpu_thread_policy'],
  [
    { 'hw:cpu_policy': 'dedicated', 'hw:cpu_thread_policy': 'prefer', 'trait:HW_CPU_HYPERTHREADING': 'required' },
    'conflicting_extra_specs',
    'trait:HW_CPU_HYPERTHREADING',
  ],
  [{ 'hw:emulator_threads_policy': 'isolate' }, 'conflicting_extra_specs', 'hw:emulator_threads_policy'],
  [{ 'hw:emulator_threads_policy': 'pin' }, 'bad_extra_spec', 'hw:emulator_threads_policy'],
  [{ 'hw:cpu_realtime': 'yes' }, 'conflicting_extra_specs', 'hw:cpu_realtime'],
  [{ 'hw:cpu_realtime': 'often' }, 'bad_extra_spec', 'hw:cpu_realtime'],
  [{ 'hw:cpu_realtime_mask': '0' }, 'conflicting_extra_specs', 'hw:cpu_realtime_mask'],
  [{ 'hw:cpu_policy': 'dedicated', 'hw:cpu_realtime': 'yes' }, 'conflicting_extra_specs', 'hw:cpu_realtime'],
  [
    { 'hw:cpu_policy': 'dedicated', 'hw:cpu_realtime': 'yes', 'hw:cpu_realtime_mask': '0-3' },
    'conflicting_extra_specs',
    'hw:cpu_realtime_mask',
  ],
  [
    { 'hw:cpu_policy': 'dedicated', 'hw:cpu_realtime': 'yes', 'hw:cpu_realtime_mask': '4' },
    'bad_extra_spec',
    'hw:cpu_realtime_mask',
  ],
  [
    {
      'hw:cpu_policy': 'mixed',
      'hw:cpu_dedicated_mask': '0',
      'hw:cpu_realtime': 'yes',
      'hw:cpu_realtime_mask': '^0',
    },
    'conflicting_extra_specs',
    'hw:cpu_dedicated_mask',
  ],
  [
    { 'hw:cpu_policy': 'mixed', 'hw:cpu_realtime': 'yes', 'hw:emulator_threads_policy': 'share' },
    'conflicting_extra_specs',
    'hw:cpu_policy',
  ],
  [{ 'device:GPU': 'select=true' }, 'bad_extra_spec', 'device:GPU'],
  [{ 'device:gpu': 'count=33' }, 'bad_extra_spec', 'device:gpu'],
  [{ 'device:gpu': 'select=' }, 'bad_extra_spec', 'device:gpu'],
  [{ 'device:gpu': 'name=nic' }, 'bad_extra_spec', 'device:gpu'],
  [{ 'device:gpu': 'class=GPU' }, 'bad_extra_spec', 'device:gpu'],
  [{ 'device:gpu': 'cores=2' }, 'bad_extra_spec', 'device:gpu'],
  [{ 'device:gpu': `select=${'x'.repeat(2_049)}` }, 'bad_extra_spec', 'device:gpu'],
  [{ 'hw:pci_numa_affinity_policy': 'socket' }, 'bad_extra_spec', 'hw:pci_numa_affinity_policy'],
  [{ 'hw:pci_numa_affinity_policy': 'near' }, 'bad_extra_spec', 'hw:pci_numa_affinity_policy'],
  [
    { 'hw:pci_numa_affinity_policy': 'legacy', 'preferred_resources:VGPU': '1' },
    'conflicting_extra_specs',
    'preferred_resources:VGPU',
  ],
  [{ 'hw:numa_nodes': '3' }, 'conflicting_extra_specs', 'hw:numa_nodes'],
  [{ 'hw:numa_nodes': '0' }, 'bad_extra_spec', 'hw:numa_nodes'],
  [{ 'hw:numa_nodes': '8' }, 'bad_extra_spec', 'hw:numa_nodes'],
  [{ 'hw:numa_nodes': '2', group_policy: 'none' }, 'conflicting_extra_specs', 'group_policy'],
  [{ 'hw:numa_nodes': '2', 'hw:numa_cpus.0': '0-1' }, 'conflicting_extra_specs', 'hw:numa_cpus.1'],
  [{ 'hw:numa_nodes': '2', 'hw:numa_cpus.2': '0-1' }, 'conflicting_extra_specs', 'hw:numa_cpus.2'],
  [
    { 'hw:numa_nodes': '2', 'hw:numa_cpus.0': '0-2', 'hw:numa_cpus.1': '2-3' },
    'conflicting_extra_specs',
    'hw:numa_cpus.0',
  ],
  [{ 'hw:numa_nodes': '2', 'hw:numa_mem.0': '1', 'hw:numa_mem.1': '1' }, 'conflicting_extra_specs', 'hw:numa_mem.0'],
  [{ 'hw:numa_mem.0': '1' }, 'conflicting_extra_specs', 'hw:numa_mem.0'],
  [{ 'hw:mem_page_size': '2TB' }, 'bad_extra_spec', 'hw:mem_page_size'],
] as const)('refuses %j as %s of %s', (extraSpecs, reason, key) => {
  expect(refusal(extraSpecs as unknown as Record<string, string>)).toEqual([reason, key]);
});

it('refuses a group that the request has as well, and a flavor that nobody has filled in', () => {
  const requestGroups = resolve({ 'resources1:VGPU': '1' }).requestGroups;
  expect(refusal({ 'resources1:VGPU': '1' }, { requestGroups })).toEqual(['conflicting_extra_specs', 'resources1']);
  const flavor = { name: 'gold', version: 0 };
  expect(refusal({}, { flavor })).toEqual(['flavor_not_resolved', 'request_spec.flavor']);
});

it('shares out all of an instance, however its nodes and policies are said', () => {
  const shapes = fc.record({
    vcpus: fc.integer({ min: 1, max: 16 }),
    mb: fc.integer({ min: 1, max: 64 }),
    nodes: fc.integer({ min: 1, max: 4 }),
    policy: fc.constantFrom('shared', 'dedicated'),
    pages: fc.constantFrom(undefined, 'large', '1GB'),
  });
  fc.assert(
    fc.property(shapes, ({ vcpus, mb, nodes, policy, pages }) => {
      const resources = { VCPU: vcpus * nodes, MEMORY_MB: mb * nodes };
      const extraSpecs = { 'hw:numa_nodes': `${nodes}`, 'hw:cpu_policy': policy };
      const spec = resolve(
        { ...extraSpecs, ...(pages === undefined ? {} : { 'hw:mem_page_size': pages }) },
        { resources },
      );
      const sumOf = (name: string) =>
        [spec, ...spec.requestGroups].reduce((sum, group) => sum + (group.resources[name] ?? 0), 0);
      expect([sumOf('VCPU') + sumOf('PCPU'), sumOf('MEMORY_MB')]).toEqual([resources.VCPU, resources.MEMORY_MB]);
      expect(sumOf(policy === 'dedicated' ? 'VCPU' : 'PCPU')).toBe(0);
    }),
  );
});

it('reads lists of processors', () => {
  expect([...(parseCpuSet('0-3,^2,6', 8) ?? [])]).toEqual([0, 1, 3, 6]);
  expect([...(parseCpuSet('^0,^2-3', 5) ?? [])]).toEqual([1, 4]);
  for (const text of ['', 'a', '3-1', '1-', '99999', '1,,2']) expect(parseCpuSet(text, 4)).toBeUndefined();
});
