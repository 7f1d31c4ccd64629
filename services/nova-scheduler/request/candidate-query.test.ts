import type { NovaAggregate } from '../facts/nova-facts';
import { readRequestSpec } from '../objects/tables';
import { aNovaSpec, type SpecFields } from '../testing/nova-spec';
import { candidateQueryOf, type QuerySettings } from './candidate-query';
import { novaRequest } from './nova-request';

const SETTINGS: QuerySettings = {
  release: 26,
  maxRequestGroups: 2,
  limitTenantsToPlacementAggregate: false,
  placementAggregateRequiredForTenants: false,
  enableIsolatedAggregateFiltering: false,
  queryPlacementForImageTypeSupport: false,
  imageMetadataPrefilter: false,
};

interface Around {
  readonly settings?: Partial<QuerySettings>;
  readonly aggregates?: readonly NovaAggregate[];
  readonly isPinningTranslated?: boolean;
}

function query(fields: SpecFields, { settings, aggregates = [], isPinningTranslated = true }: Around = {}) {
  const request = novaRequest(readRequestSpec(aNovaSpec(fields), 'spec_obj'), 'user');
  const context = { aggregates, inTree: undefined, settings: { ...SETTINGS, ...settings }, isPinningTranslated };
  return candidateQueryOf(request, context);
}

const amounts = (fields: SpecFields, around?: Around) => query(fields, around).groups[0]?.resources;
const required = (fields: SpecFields, around?: Around) => query(fields, around).groups[0]?.requiredTraits.flat();

it('asks for the amounts of the flavor, on hosts that are not disabled', () => {
  expect(query({ vcpus: 2, memoryMb: 512, rootGb: 10 })).toEqual({
    groups: [
      {
        suffix: '',
        resources: { VCPU: 2, MEMORY_MB: 512, DISK_GB: 10 },
        requiredTraits: [],
        forbiddenTraits: [],
        memberOf: [],
        forbiddenAggregates: [],
        inTree: undefined,
      },
    ],
    groupPolicy: 'none',
    sameSubtrees: [],
    rootRequiredTraits: [],
    rootForbiddenTraits: ['COMPUTE_STATUS_DISABLED'],
  });
});

it('takes no root disk of a server that boots from a volume, and no class that extra specs set to 0', () => {
  expect(amounts({ more: { is_bfv: true } })).toEqual({ VCPU: 1, MEMORY_MB: 256 });
  const extraSpecs = {
    'resources:VCPU': '0',
    'resources:MEMORY_MB': '0',
    'resources:DISK_GB': '0',
    'resources:CUSTOM_GOLD': '1',
  };
  expect(amounts({ extraSpecs })).toEqual({ CUSTOM_GOLD: 1 });
  expect(amounts({ extraSpecs: { 'resources:NOPE!': '1', 'resources:VCPU': 'many' } })).toEqual({
    VCPU: 1,
    MEMORY_MB: 256,
    DISK_GB: 5,
  });
});

it('has a group for each suffix of the flavor and each group from outside, with a policy', () => {
  const port = {
    resources: { NET_BW_EGR_KILOBIT_PER_SEC: 10 },
    required_traits: ['CUSTOM_PHYSNET'],
    requester_id: 'port',
  };
  const asked = query({
    extraSpecs: { 'resources1:VGPU': '1', 'trait1:CUSTOM_FAST': 'required' },
    requestGroups: [port],
  });
  expect(asked.groups.map(({ suffix, resources }) => [suffix, resources])).toEqual([
    ['1', { VGPU: 1 }],
    ['port', { NET_BW_EGR_KILOBIT_PER_SEC: 10 }],
    ['', { VCPU: 1, MEMORY_MB: 256, DISK_GB: 5 }],
  ]);
  expect(asked.groupPolicy).toBe('none');
  const two = { 'resources1:VGPU': '1', 'resources2:VGPU': '1' };
  expect(() => query({ extraSpecs: two })).toThrow('no group_policy');
  expect(query({ extraSpecs: { ...two, group_policy: 'isolate' } }).groupPolicy).toBe('isolate');
  expect(() => query({ requestGroups: [{ resources: { VGPU: 1 } }] })).toThrow('has no requester_id');
  const three = { ...two, 'resources3:VGPU': '1', group_policy: 'none' };
  expect(() => query({ extraSpecs: three })).toThrow('3 request groups, at most 2');
});

it('translates pinned processors to PCPU, or leaves them VCPU for hosts that report none', () => {
  const dedicated = { vcpus: 4, extraSpecs: { 'hw:cpu_policy': 'dedicated', 'hw:cpu_thread_policy': 'require' } };
  expect(amounts(dedicated)).toEqual({ PCPU: 4, MEMORY_MB: 256, DISK_GB: 5 });
  expect(required(dedicated)).toEqual(['HW_CPU_HYPERTHREADING']);
  expect(amounts(dedicated, { isPinningTranslated: false })).toEqual({ VCPU: 4, MEMORY_MB: 256, DISK_GB: 5 });
  expect(amounts({ vcpus: 2, image: { hw_cpu_policy: 'dedicated' } })).toMatchObject({ PCPU: 2 });
  const isolated = { ...dedicated.extraSpecs, 'hw:emulator_threads_policy': 'isolate' };
  expect(amounts({ vcpus: 4, extraSpecs: isolated })).toMatchObject({ PCPU: 5 });
  const mixed = { vcpus: 4, extraSpecs: { 'hw:cpu_policy': 'mixed', 'hw:cpu_dedicated_mask': '^0' } };
  expect(amounts(mixed)).toMatchObject({ PCPU: 3, VCPU: 1 });
});

it.each<[string, SpecFields, number, string[]]>([
  ['secure boot', { image: { os_secure_boot: 'required' } }, 26, ['COMPUTE_SECURITY_UEFI_SECURE_BOOT']],
  ['TPM of an old release', { extraSpecs: { 'hw:tpm_version': '2.0' } }, 26, ['COMPUTE_SECURITY_TPM_2_0']],
  [
    'TPM with its model',
    { extraSpecs: { 'hw:tpm_version': '2.0', 'hw:tpm_model': 'tpm-crb' } },
    30,
    ['COMPUTE_SECURITY_TPM_2_0', 'COMPUTE_SECURITY_TPM_CRB'],
  ],
  [
    'PCI affinity by socket',
    { image: { hw_pci_numa_affinity_policy: 'socket' } },
    26,
    ['COMPUTE_SOCKET_PCI_NUMA_AFFINITY'],
  ],
  ['addresses', { extraSpecs: { 'hw:maxphysaddr_mode': 'emulate' } }, 29, ['COMPUTE_ADDRESS_SPACE_EMULATED']],
  ['traits of the image', { image: { traits_required: ['CUSTOM_A'] } }, 26, ['CUSTOM_A']],
])('requires traits for %s', (_, fields, release, traits) => {
  expect(required(fields, { settings: { release } })).toEqual(traits);
});

it('asks for memory encryption and persistent memory as amounts', () => {
  const extraSpecs = { 'hw:mem_encryption': 'True', 'hw:pmem': '4GB,4GB,SMALL' };
  expect(amounts({ extraSpecs })).toMatchObject({
    MEM_ENCRYPTION_CONTEXT: 1,
    CUSTOM_PMEM_NAMESPACE_4GB: 2,
    CUSTOM_PMEM_NAMESPACE_SMALL: 1,
  });
});

it('requires traits of the root for the image, where that is on', () => {
  const image = { hw_vif_model: 'virtio', hw_disk_bus: 'scsi' };
  const root = (settings: Partial<QuerySettings>) => query({ image }, { settings }).rootRequiredTraits;
  expect(root({})).toEqual([]);
  expect(root({ queryPlacementForImageTypeSupport: true })).toEqual(['COMPUTE_IMAGE_TYPE_RAW']);
  expect(root({ imageMetadataPrefilter: true })).toEqual(['COMPUTE_STORAGE_BUS_SCSI', 'COMPUTE_NET_VIF_MODEL_VIRTIO']);
});

const aggregate = (uuid: string, metadata: Readonly<Record<string, string>>): NovaAggregate => {
  return { id: 1, uuid, hosts: new Set(), metadata: new Map(Object.entries(metadata)) };
};

it('asks for aggregates of the zone, the tenant and the destination, and not for isolated ones', () => {
  const aggregates = [
    aggregate('zone', { availability_zone: 'az1' }),
    aggregate('tenant', { filter_tenant_id2: 'project' }),
    aggregate('other', { filter_tenant_id: 'other' }),
    aggregate('gold', { 'trait:CUSTOM_GOLD': 'required' }),
  ];
  const settings = { limitTenantsToPlacementAggregate: true, enableIsolatedAggregateFiltering: true };
  const destination = { aggregates: ['a,b'], forbidden_aggregates: ['c'] };
  const [group] = query({ destination, more: { availability_zone: 'az1' } }, { aggregates, settings }).groups;
  expect(group).toMatchObject({ memberOf: [['a', 'b'], ['tenant'], ['zone']], forbiddenAggregates: ['c', 'gold'] });
  const gold = query({ extraSpecs: { 'trait:CUSTOM_GOLD': 'required' } }, { aggregates, settings }).groups[0];
  expect(gold?.forbiddenAggregates).toEqual([]);
  const strict = { ...settings, placementAggregateRequiredForTenants: true };
  expect(() => query({}, { settings: strict })).toThrow('No hosts available for tenant');
});
