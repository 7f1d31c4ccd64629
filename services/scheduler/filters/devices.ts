import { type DeviceRefusal, deviceFacts, deviceRefusal } from '../devices/device-refusal';
import { type CompiledRequest, compileDevices } from '../devices/devices-asked';
import type { HostState } from '../fleet/host-state';
import type { Check, ClassFilter, Reason } from './filter';

/**
 * devices: only hosts with devices for each request of devices by itself: enough that meet its conditions, are large enough,
 * tolerated and free, of one of its alternatives. Whether they suffice for all requests together, under constraints and
 * shared counters, the candidate search decides. Reasons, with the name of the request: `device_absent_<name>`,
 * `device_condition_<name>_<n>` (without the n-th expression there would be enough), `device_capacity_<name>`,
 * `device_tainted_<name>`, `device_taken_<name>`.
 */
export const devicesFilter: ClassFilter = {
  kind: 'class',
  name: 'devices',
  prepare: (asked) => (asked.deviceRequests.length === 0 ? NONE : compileDevices(asked).requests.map(checkOf)),
};

const NONE: readonly Check[] = [];

function checkOf(request: CompiledRequest): Check {
  const reasons = new Map<string, Reason>();
  const reasonFor = (refusal: DeviceRefusal): Reason => {
    const key = refusal.kind === 'condition' ? `condition ${refusal.condition.text}` : refusal.kind;
    const known = reasons.get(key) ?? reasonOf(refusal, request.name);
    reasons.set(key, known);
    return known;
  };
  const refusalOn = ({ providers, root }: HostState): DeviceRefusal | undefined =>
    providers ? deviceRefusal(request, providers, root.uuid) : { kind: 'absent' };
  return {
    refuse(host) {
      const refusal = refusalOn(host);
      return refusal && reasonFor(refusal);
    },
    describe({ providers, root, host }) {
      const facts = providers ? deviceFacts(request, providers, root.uuid, host.name) : ['the host has no devices'];
      return `wants devices for ${request.name}: ${facts.join('; ')}`;
    },
  };
}

function reasonOf(refusal: DeviceRefusal, name: string): Reason {
  const symbol = name.replaceAll('-', '_');
  switch (refusal.kind) {
    case 'condition':
      return {
        symbol: `device_condition_${symbol}_${refusal.place + 1}`,
        phrase: `have no device for ${name} where ${refusal.condition.text}`,
      };
    case 'absent':
      return { symbol: `device_absent_${symbol}`, phrase: `have no devices for ${name}` };
    case 'capacity':
      return { symbol: `device_capacity_${symbol}`, phrase: `have no devices large enough for ${name}` };
    case 'tainted':
      return {
        symbol: `device_tainted_${symbol}`,
        phrase: `have devices for ${name} with taints that it does not tolerate`,
      };
    case 'taken':
      return { symbol: `device_taken_${symbol}`, phrase: `have all devices for ${name} in use` };
  }
}
