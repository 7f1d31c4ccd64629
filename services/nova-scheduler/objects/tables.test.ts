import { aNovaSpec } from '../testing/nova-spec';
import { recordedCalls } from '../testing/recorded';
import { readAggregates, readInstanceUuids, readRequestSpec } from './tables';
import { writeObject } from './versioned-object';

const calls = Object.entries(recordedCalls());

it.each(calls.filter(([, { method }]) => method === 'select_destinations'))(
  'reads the spec of a recorded call: %s',
  (_, { args }) => {
    expect(readRequestSpec(args['spec_obj'], 'spec_obj').flavor?.vcpus).toBeGreaterThan(0);
  },
);

it('reads what matters of a spec', () => {
  const spec = (name: string) => readRequestSpec(recordedCalls()[name]?.args['spec_obj'], 'spec_obj');
  expect(spec('anti-affinity').instance_group?.['_rules']?.get('max_server_per_host')).toBe('2');
  expect(spec('destination').requested_destination).toMatchObject({ host: 'h2', aggregates: ['aggA,aggB', 'aggC'] });
  expect(spec('port with bandwidth').request_level_params?.root_required).toEqual(['COMPUTE_NODE']);
  expect(spec('move').requested_destination?.cell?.uuid).toMatch(/^[0-9a-f-]{36}$/);
  expect(spec('move').requested_destination?.cell?.database_connection).toBeUndefined();
  expect(spec('pinned, NUMA').numa_topology?.cells).toHaveLength(1);
  expect(spec('PCI').pci_requests?.requests).toHaveLength(1);
});

/** A spec whose image has these properties, in a version of ImageMetaProps. */
function withProperties(version: string, properties: Readonly<Record<string, unknown>>) {
  const image = writeObject('ImageMeta', '1.8', { properties: writeObject('ImageMetaProps', version, properties) });
  return aNovaSpec({ more: { image } });
}

it('reads objects of newer releases of Nova', () => {
  const newest = writeObject('RequestSpec', '1.15', { num_instances: 1 });
  expect(readRequestSpec(newest, 'spec_obj')).toEqual({ num_instances: 1 });
  const spec = readRequestSpec(withProperties('1.42', { hw_usb_model: 'ehci', hw_sound_model: 'virtio' }), 'spec_obj');
  expect(spec.image?.properties?.hw_sound_model).toBe('virtio');
});

it.each([
  ['an unknown version', writeObject('RequestSpec', '1.16', {}), 'Version 1.16 of RequestSpec is not supported'],
  ['another major version', writeObject('RequestSpec', '2.0', {}), 'Version 2.0 of RequestSpec'],
  ['an unknown field', aNovaSpec({ more: { numa: 1 } }), 'spec_obj.numa is no field of RequestSpec 1.14'],
  [
    'a field of a newer version',
    withProperties('1.34', { hw_usb_model: 'x' }),
    'hw_usb_model is no field of ImageMetaProps 1.34: 1.41',
  ],
  ['another object', writeObject('Flavor', '1.2', {}), 'is a Flavor, not a RequestSpec'],
  ['another namespace', { ...aNovaSpec(), 'nova_object.namespace': 'cinder' }, 'is of namespace cinder'],
  ['a field of another type', aNovaSpec({ vcpus: -1 }), 'spec_obj.flavor.vcpus is not a whole number'],
  ['no object', [], 'spec_obj is not an object'],
])('refuses %s by name', (_, value, message) => {
  expect(() => readRequestSpec(value, 'spec_obj')).toThrow(message);
});

it('reads the objects of fanouts', () => {
  const args = (name: string) => recordedCalls()[name]?.args ?? {};
  const [aggregate] = readAggregates(args('update_aggregates')['aggregates'], 'aggregates');
  expect(aggregate?.uuid).toMatch(/^[0-9a-f-]{36}$/);
  expect(readAggregates(args('delete_aggregate')['aggregate'], 'aggregate')).toHaveLength(1);
  expect(readInstanceUuids(args('update_instance_info')['instance_info'], 'instance_info')).toHaveLength(1);
});
