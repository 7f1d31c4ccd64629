import { type NestedProvider, type UpdateResourceStatsRequest, updateResourceStatsMethod } from '#libs/contracts/stats';
import { type Device, deviceInventories } from '#libs/domain/devices/device';
import { inventory } from '#libs/domain/inventory';
import { aDevice } from '#libs/testing/placement/hosts/devices';
import { aStatsReport, running } from '../testing/stats';
import { validateStats } from './validate';

const SENDER = { kind: 'agent', host: 'host-1', carriesOthers: false } as const;

it('accepts a good report', () => {
  const good = aStatsReport({
    inventories: { VCPU: inventory(8, { reserved: 8 }), CUSTOM_GOLD: inventory(0) },
    traits: ['HW_CPU_X86_AVX2', 'CUSTOM_FAST'],
    capabilities: { hw_architecture: ['x86_64'] },
    externalUsage: { VCPU: 8 },
    aggregates: ['aaaaaaaa-0000-4000-8000-000000000001'],
    nestedProviders: [
      nested('0000:81:00.0', { parent: 'numa0', inventories: { PGPU: inventory(1) }, traits: ['CUSTOM_FAST'] }),
      nested('numa0', { inventories: { VCPU: inventory(8) }, externalUsage: { VCPU: 8 } }),
    ],
    instances: [running('bbbbbbbb-0000-4000-8000-000000000001')],
  });
  expect(() => validateStats(good, SENDER, 10)).not.toThrow();
});

const one = running('bbbbbbbb-0000-4000-8000-000000000001');
const vcpu = (fields: Partial<ReturnType<typeof inventory>>) => ({
  inventories: { VCPU: { ...inventory(8), ...fields } },
});
const many = (count: number) => Array.from({ length: count }, (_, i) => `CUSTOM_${i}`);

const nested = (name: string, fields: Partial<NestedProvider> = {}): NestedProvider => {
  return { name, parent: '', inventories: {}, traits: [], externalUsage: {}, ...fields };
};

const device = (name: string, facts: Device, fields: Partial<NestedProvider> = {}) =>
  nested(name, { inventories: deviceInventories(facts), device: facts, ...fields });
const counters = nested('card', { inventories: { CUSTOM_SLICE: inventory(8) } });
const huge = aDevice({}, { consumers: 2, capacity: { memory: { amount: 2 ** 40, step: 1 } } });
const twins = aDevice({}, { consumers: 2, capacity: { 'a-b': { amount: 1, step: 1 }, a_b: { amount: 1, step: 1 } } });
const part = aDevice({}, { consumes: { CUSTOM_SLICE: 2 } });

it('accepts devices, and partitions of one whose parent has the counters', () => {
  const whole = aDevice({ model: 'H100' }, { consumers: 4, capacity: { memory: { amount: 2 ** 40, step: 2 ** 20 } } });
  const nestedProviders = [device('gpu0', whole), counters, device('part0', part, { parent: 'card' })];
  expect(() => validateStats(aStatsReport({ nestedProviders }), SENDER, 10)).not.toThrow();
});

type Row = readonly [reason: string, field: string, fields: Partial<UpdateResourceStatsRequest>];
const refused: readonly Row[] = [
  [
    'device_inventories',
    'nested_providers[0].inventories.PGPU',
    {
      nestedProviders: [
        device('gpu0', aDevice(), { inventories: { CUSTOM_DEVICE: inventory(1), PGPU: inventory(1) } }),
      ],
    },
  ],
  [
    'device_inventories',
    'nested_providers[0].inventories.CUSTOM_DEVICE',
    { nestedProviders: [device('gpu0', aDevice(), { inventories: { CUSTOM_DEVICE: inventory(2) } })] },
  ],
  [
    'bad_amount',
    'nested_providers[0].device.capacity.memory',
    { nestedProviders: [device('gpu0', huge, { inventories: {} })] },
  ],
  ['duplicate_capacity', 'nested_providers[0].device.capacity', { nestedProviders: [device('gpu0', twins)] }],
  [
    'duplicate_capacity',
    'nested_providers[0].device.resource_class',
    { nestedProviders: [device('gpu0', aDevice({}, { resourceClass: 'CUSTOM_DEVICE_MEMORY' }))] },
  ],
  ['unknown_class', 'nested_providers[0].device.consumes.CUSTOM_SLICE', { nestedProviders: [device('part0', part)] }],
  ['wrong_host', 'host', { host: 'host-2' }],
  ['malformed_host', 'host', { host: 'no host' }],
  ['missing_field', 'agent_run', { agentRun: '' }],
  ['too_long', 'agent_run', { agentRun: 'x'.repeat(256) }],
  ['bad_number', 'sequence', { sequence: -1 }],
  ['bad_number', 'sequence', { sequence: 1.5 }],
  ['malformed_uuid', 'provider_uuid', { providerUuid: 'host-1' }],
  ['missing_field', 'provider_uuid', { providerUuid: '' }],
  ['missing_field', 'cell', { cell: '' }],
  ['malformed_host', 'service_host', { serviceHost: 'no host' }],
  ['unknown_class', 'inventories.PONIES', { inventories: { PONIES: inventory(1) } }],
  ['unknown_class', 'inventories.CUSTOM_pony', { inventories: { CUSTOM_pony: inventory(1) } }],
  ['too_many', 'inventories', { inventories: Object.fromEntries(many(257).map((name) => [name, inventory(1)])) }],
  ['negative_amount', 'inventories.VCPU.total', vcpu({ total: -1 })],
  ['bad_amount', 'inventories.VCPU.total', vcpu({ total: 2 ** 31 })],
  ['bad_amount', 'inventories.VCPU.total', vcpu({ total: 1.5 })],
  ['negative_amount', 'inventories.VCPU.reserved', vcpu({ reserved: -1 })],
  ['reserved_above_total', 'inventories.VCPU.reserved', vcpu({ reserved: 9 })],
  ['bad_ratio', 'inventories.VCPU.allocation_ratio', vcpu({ allocationRatio: 0 })],
  ['bad_ratio', 'inventories.VCPU.allocation_ratio', vcpu({ allocationRatio: Number.NaN })],
  ['bad_ratio', 'inventories.VCPU.allocation_ratio', vcpu({ allocationRatio: Number.POSITIVE_INFINITY })],
  ['bad_unit', 'inventories.VCPU.min_unit', vcpu({ minUnit: 0 })],
  ['bad_unit', 'inventories.VCPU.min_unit', vcpu({ minUnit: 5, maxUnit: 4 })],
  ['bad_unit', 'inventories.VCPU.max_unit', vcpu({ maxUnit: -1 })],
  ['bad_unit', 'inventories.VCPU.step_size', vcpu({ stepSize: 0.5 })],
  ['unknown_trait', 'traits[1]', { traits: ['HW_CPU_X86_AVX2', 'SHINY'] }],
  ['unknown_trait', 'traits[0]', { traits: ['CUSTOM_shiny'] }],
  ['duplicate_trait', 'traits', { traits: ['CUSTOM_A', 'CUSTOM_A'] }],
  ['too_many', 'traits', { traits: many(1_025) }],
  ['missing_field', 'capabilities.hw_vm_mode[0]', { capabilities: { hw_vm_mode: [''] } }],
  ['unknown_class', 'external_usage.DISK_GB', { externalUsage: { DISK_GB: 1 } }],
  ['negative_amount', 'external_usage.VCPU', { externalUsage: { VCPU: -1 } }],
  ['used_above_total', 'external_usage.VCPU', { externalUsage: { VCPU: 9 } }],
  ['bad_number', 'external_instances', { externalInstances: -1 }],
  ['bad_number', 'io_ops', { ioOps: Number.NaN }],
  ['too_many', 'instances', { instances: many(11).map(() => one) }],
  ['malformed_uuid', 'instances[0].instance_uuid', { instances: [running('x')] }],
  ['duplicate_instance', 'instances[1].instance_uuid', { instances: [one, one] }],
  ['malformed_uuid', 'instances[0].request_id', { instances: [{ ...one, requestId: 'r' }] }],
  ['unknown_class', 'instances[0].resources.PONIES', { instances: [{ ...one, resources: { PONIES: 1 } }] }],
  ['negative_amount', 'instances[0].resources.VCPU', { instances: [{ ...one, resources: { VCPU: -1 } }] }],
  ['malformed_uuid', 'aggregates[0]', { aggregates: ['rack-1'] }],
  ['malformed_name', 'nested_providers[0].name', { nestedProviders: [nested('')] }],
  ['malformed_name', 'nested_providers[0].name', { nestedProviders: [nested('numa 0')] }],
  ['malformed_name', 'nested_providers[0].name', { nestedProviders: [nested('n'.repeat(65))] }],
  ['duplicate_provider', 'nested_providers[1].name', { nestedProviders: [nested('a'), nested('a')] }],
  ['unknown_parent', 'nested_providers[1].parent', { nestedProviders: [nested('a'), nested('b', { parent: 'c' })] }],
  [
    'unknown_parent',
    'nested_providers[0].parent',
    { nestedProviders: [nested('a', { parent: 'b' }), nested('b', { parent: 'a' })] },
  ],
  ['unknown_parent', 'nested_providers[0].parent', { nestedProviders: [nested('a', { parent: 'a' })] }],
  [
    'negative_amount',
    'nested_providers[0].inventories.VCPU.total',
    { nestedProviders: [nested('a', vcpu({ total: -1 }))] },
  ],
  ['unknown_trait', 'nested_providers[0].traits[0]', { nestedProviders: [nested('a', { traits: ['SHINY'] })] }],
  [
    'used_above_total',
    'nested_providers[0].external_usage.VCPU',
    { nestedProviders: [nested('a', { ...vcpu({}), externalUsage: { VCPU: 9 } })] },
  ],
  [
    'duplicate_aggregate',
    'aggregates',
    { aggregates: ['aaaaaaaa-0000-4000-8000-000000000001', 'aaaaaaaa-0000-4000-8000-000000000001'] },
  ],
];

it.each(refused)('refuses %s in %s', (reason, field, fields) => {
  let thrown: unknown;
  try {
    validateStats(aStatsReport(fields), SENDER, 10);
  } catch (error) {
    thrown = error;
  }
  const code = reason === 'wrong_host' ? 'permission_denied' : 'invalid_argument';
  expect(thrown).toMatchObject({ code, reason, details: { field } });
});

it.each([Number.NaN, Number.POSITIVE_INFINITY, -1, 1e300])(
  'refuses a ratio of %p that comes by the wire, by its name',
  (ratio) => {
    const { request } = updateResourceStatsMethod;
    const report = request.decode(request.encode(aStatsReport(vcpu({ allocationRatio: ratio }))));
    const field = 'inventories.VCPU.allocation_ratio';
    expect(() => validateStats(report, SENDER, 10)).toThrow(
      expect.objectContaining({ reason: 'bad_ratio', details: expect.objectContaining({ field }) }),
    );
  },
);
