import { nodeClassOf, readNode } from './ironic-node';

it.each([
  ['baremetal.gold', 'CUSTOM_BAREMETAL_GOLD'],
  ['BAREMETAL_GOLD', 'CUSTOM_BAREMETAL_GOLD'],
  ['CUSTOM_BAREMETAL_GOLD', 'CUSTOM_BAREMETAL_GOLD'],
  ['gold', 'CUSTOM_BAREMETAL_GOLD'],
  ['baremetal', 'CUSTOM_BAREMETAL_BAREMETAL'],
  ['bare metal-2', 'CUSTOM_BAREMETAL_BARE_METAL_2'],
  ['', ''],
  ['x'.repeat(250), ''],
])('names the class of %j as Nova does, for a whole node', (resourceClass, name) => {
  expect(nodeClassOf(resourceClass)).toBe(name);
});

it('reads a node, and leaves out what is not as it should be', () => {
  const uuid = '1be26c0b-03f2-4d2e-ae87-c02d7f33c123';
  const row = {
    uuid,
    resource_class: 'gold',
    traits: ['CUSTOM_SSD', 'ssd', 7],
    properties: { cpus: '16', memory_mb: 65_536, local_gb: 'many' },
    maintenance: false,
    maintenance_reason: null,
    provision_state: 'available',
    power_state: null,
    target_power_state: 'power on',
    instance_uuid: null,
    protected: false,
    last_error: 'x'.repeat(1_000),
  };
  expect(readNode(row)).toMatchObject({
    uuid,
    resourceClass: 'CUSTOM_BAREMETAL_GOLD',
    traits: ['CUSTOM_SSD'],
    resources: { VCPU: 16, MEMORY_MB: 65_536 },
    isOn: undefined,
    isSwitching: true,
    instanceUuid: '',
    lastError: 'x'.repeat(400),
  });
});

it.each([[undefined], [{}], [{ uuid: 'node-1', provision_state: 'active' }], [[]]])('refuses %j', (body) => {
  expect(() => readNode(body)).toThrow(expect.objectContaining({ reason: 'controller_away' }));
});
