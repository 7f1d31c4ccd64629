import { type Device, type DeviceAttribute, deviceInventories } from '../../../domain/devices/device';
import type { DeviceAlternative, DeviceRequest } from '../../../domain/devices/device-request';
import type { Inventories } from '../../../domain/inventory';
import { nestedProviderUuid } from '../../../placement/port/nested-provider';
import type { NestedReport } from '../../../placement/port/placement-store';

type Value = boolean | number | string;

/** A device of these attributes that one instance has to itself; `rest` for all else. */
export function aDevice(attributes: Readonly<Record<string, Value>> = {}, rest: Partial<Device> = {}): Device {
  const typed = Object.entries(attributes).map(([name, value]) => [name, typedValue(value)] as const);
  return { attributes: Object.fromEntries(typed), capacity: {}, consumers: 1, taints: {}, consumes: {}, ...rest };
}

/** Texts that begin with v are versions. */
function typedValue(value: Value): DeviceAttribute {
  if (typeof value === 'boolean') return { kind: 'bool', value };
  if (typeof value === 'number') return { kind: 'int', value };
  return /^v\d/.test(value) ? { kind: 'version', value: value.slice(1) } : { kind: 'string', value };
}

/** A request for devices with one alternative. */
export function aDeviceRequest(name: string, ...alternatives: readonly Partial<DeviceAlternative>[]): DeviceRequest {
  const firstAvailable = (alternatives.length === 0 ? [{}] : alternatives).map((one, n) => ({
    name: alternatives.length > 1 ? `choice-${n + 1}` : '',
    count: 1,
    selectors: [],
    tolerations: {},
    capacity: {},
    ...one,
  }));
  return { name, firstAvailable };
}

/** Providers that an agent reports below a root: devices, and providers of counters, under `parent/name` or `name`. */
export function nestedDevices(
  host: string,
  rootUuid: string,
  providers: Readonly<Record<string, Device | Inventories>>,
): NestedReport[] {
  const uuidOf = (name: string) => (name === '' ? rootUuid : nestedProviderUuid(rootUuid, name));
  return Object.entries(providers).map(([path, one]) => {
    const [name = '', parent = ''] = path.split('/').toReversed();
    const about = { uuid: uuidOf(name), name: `${host}:${name}`, parentUuid: uuidOf(parent), traits: [] };
    return isDevice(one)
      ? { ...about, inventories: deviceInventories(one), device: one }
      : { ...about, inventories: one };
  });
}

function isDevice(one: Device | Inventories): one is Device {
  return 'attributes' in one;
}
