import type { Device } from '../domain/devices/device';
import { BerthError } from '../domain/errors';
import type { RequestSpec } from '../domain/request-spec';
import { aRequestSpec } from '../testing/instances/request-spec';
import { aDevice, aDeviceRequest } from '../testing/placement/hosts/devices';
import { device } from './devices';
import { requestSpec } from './request-spec';

it('a device reads as it was written, with its types', () => {
  const one: Device = aDevice(
    { model: 'H100', numa: -1, nvlink: false, 'gpu.example.com/driver': 'v535.1.0' },
    {
      capacity: { memory: { amount: 2 ** 40, step: 2 ** 20 } },
      consumers: 7,
      taints: { 'gpu.example.com/worn': '3' },
      consumes: { CUSTOM_SLICE: 2 },
    },
  );
  expect(device.decode(device.encode(one))).toEqual(one);
  expect(device.decode(new Uint8Array())).toEqual(aDevice());
  const failed = aDevice({}, { taints: { failed: 'ecc', slow: 'yes' }, evicts: { failed: 0 } });
  expect(device.decode(device.encode(failed))).toEqual(failed);
});

it('requests of devices read as they were written', () => {
  const alternative = { count: 2, selectors: ['true'], tolerations: { worn: '*' }, capacity: { memory: 5 } };
  const brief = { tolerations: { worn: '*' }, tolerationSeconds: { worn: 30 } };
  const spec = aRequestSpec({
    deviceRequests: [aDeviceRequest('gpu', alternative, { count: 'all' }), aDeviceRequest('nic', brief)],
    deviceConstraints: [{ requests: ['gpu', 'nic'], matchAttribute: 'numa' }],
  });
  expect(requestSpec.decode(requestSpec.encode(spec))).toEqual(spec);
});

const attributes = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`a${n}`, n]));

it.each<[string, string, Device]>([
  ['too_many', 'device.attributes', aDevice(attributes(33))],
  ['malformed_name', 'device.attributes', aDevice({ 'no name': 1 })],
  ['malformed_name', 'device.taints', aDevice({}, { taints: { 'a/b/c': '1' } })],
  ['too_long', 'device.attributes.model.text', aDevice({ model: 'x'.repeat(129) })],
  ['bad_version', 'device.attributes.driver', aDevice({ driver: 'v1.2' })],
  ['bad_amount', 'device.capacity.memory.amount', aDevice({}, { capacity: { memory: { amount: -1, step: 1 } } })],
  ['bad_amount', 'device.consumes.CUSTOM_SLICE', aDevice({}, { consumes: { CUSTOM_SLICE: 0 } })],
])('a device is refused: %s of %s', (reason, field, one) => {
  expect(refusalOf(() => device.fromWire(device.toWire(one), 'device'))).toEqual([reason, field]);
});

it.each<[string, string, Partial<RequestSpec>]>([
  ['missing_field', 'device_requests[0].name', { deviceRequests: [aDeviceRequest('')] }],
  ['malformed_name', 'device_requests[0].name', { deviceRequests: [aDeviceRequest('A gpu')] }],
  ['missing_field', 'device_requests[0].first_available', { deviceRequests: [{ name: 'gpu', firstAvailable: [] }] }],
  [
    'duplicate_device_request',
    'device_requests[1].name',
    { deviceRequests: [aDeviceRequest('a'), aDeviceRequest('a')] },
  ],
  [
    'duplicate_device_request',
    'device_requests[0].first_available[1].name',
    { deviceRequests: [aDeviceRequest('a', { name: '' }, { name: '' })] },
  ],
  [
    'unknown_value',
    'device_requests[0].first_available[0].toleration_seconds',
    { deviceRequests: [aDeviceRequest('a', { tolerationSeconds: { worn: 1 } })] },
  ],
  [
    'too_many',
    'device_requests',
    { deviceRequests: [aDeviceRequest('a', { count: 30 }), aDeviceRequest('b', { count: 3 })] },
  ],
  [
    'too_long',
    'device_requests[0].first_available[0].selectors[0]',
    { deviceRequests: [aDeviceRequest('a', { selectors: ['x'.repeat(2_049)] })] },
  ],
  [
    'bad_amount',
    'device_requests[0].first_available[0].capacity.memory',
    { deviceRequests: [aDeviceRequest('a', { capacity: { memory: 0.5 } })] },
  ],
  [
    'unknown_value',
    'device_constraints[0].requests',
    { deviceRequests: [aDeviceRequest('a')], deviceConstraints: [{ requests: ['b'], matchAttribute: 'numa' }] },
  ],
  [
    'missing_field',
    'device_constraints[0].match_attribute',
    { deviceConstraints: [{ requests: [], matchAttribute: '' }] },
  ],
])('a request is refused: %s of %s', (reason, field, fields) => {
  const wire = requestSpec.toWire(aRequestSpec(fields));
  expect(refusalOf(() => requestSpec.fromWire(wire, 'request_spec'))).toEqual([reason, `request_spec.${field}`]);
});

it('a request group can not be called as devices are', () => {
  const none = { requiredTraits: [], forbiddenTraits: [], memberOf: [], forbiddenAggregates: [], inTree: undefined };
  const spec = aRequestSpec({ requestGroups: [{ ...none, suffix: 'device:gpu', resources: { VGPU: 1 } }] });
  expect(refusalOf(() => requestSpec.decode(requestSpec.encode(spec)))?.[0]).toBe('malformed_name');
});

function refusalOf(act: () => unknown) {
  try {
    act();
    return undefined;
  } catch (thrown) {
    const { reason, details } = BerthError.from(thrown);
    return [reason, details['field']];
  }
}
