import { parseSelectors, type Selector } from '#libs/devices/selector';
import {
  type DeviceAlternative,
  type DeviceConstraint,
  type DeviceRequest,
  type DevicesAsked,
  deviceSuffix,
} from '#libs/domain/devices/device-request';

/** Requests for devices with their expressions compiled. */
export interface CompiledDevices {
  readonly requests: readonly CompiledRequest[];
  readonly constraints: readonly DeviceConstraint[];
}

export interface CompiledRequest {
  readonly name: string;
  readonly alternatives: readonly CompiledAlternative[];
}

export interface CompiledAlternative
  extends Pick<DeviceAlternative, 'resourceClass' | 'count' | 'tolerations' | 'tolerationSeconds' | 'capacity'> {
  /** Under which its devices stand in mappings. */
  readonly suffix: string;
  readonly conditions: readonly Selector[];
}

/** True if a request asks for devices. */
export function asksDevices({ deviceRequests }: Pick<DevicesAsked, 'deviceRequests'>): boolean {
  return deviceRequests.length > 0;
}

/** The requests of a spec, compiled once for the spec, whose lists are immutable. */
export function compileDevices({ deviceRequests, deviceConstraints }: DevicesAsked): CompiledDevices {
  const known = COMPILED.get(deviceRequests);
  if (known?.constraints === deviceConstraints) return known;
  const made = { requests: deviceRequests.map(compiledRequest), constraints: deviceConstraints };
  COMPILED.set(deviceRequests, made);
  return made;
}

const COMPILED = new WeakMap<readonly DeviceRequest[], CompiledDevices>();

function compiledRequest(request: DeviceRequest): CompiledRequest {
  const alternatives = request.firstAvailable.map((alternative) => ({
    suffix: deviceSuffix(request, alternative),
    resourceClass: alternative.resourceClass,
    count: alternative.count,
    tolerations: alternative.tolerations,
    ...(alternative.tolerationSeconds ? { tolerationSeconds: alternative.tolerationSeconds } : {}),
    capacity: alternative.capacity,
    conditions: alternative.selectors.flatMap(parseSelectors),
  }));
  return { name: request.name, alternatives };
}
