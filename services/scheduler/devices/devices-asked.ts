import {
  type DeviceAlternative,
  type DeviceConstraint,
  type DeviceRequest,
  type DevicesAsked,
  deviceSuffix,
} from '#libs/domain/devices/device-request';
import { invalidArgument } from '#libs/domain/errors';
import { parseSelectors, type Selector } from './selector';

/** Requests for devices with their expressions compiled. */
export interface CompiledDevices {
  readonly requests: readonly CompiledRequest[];
  readonly constraints: readonly DeviceConstraint[];
}

export interface CompiledRequest {
  readonly name: string;
  readonly alternatives: readonly CompiledAlternative[];
}

export interface CompiledAlternative extends Pick<DeviceAlternative, 'count' | 'tolerations' | 'capacity'> {
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
    count: alternative.count,
    tolerations: alternative.tolerations,
    capacity: alternative.capacity,
    conditions: alternative.selectors.flatMap(parseSelectors),
  }));
  return { name: request.name, alternatives };
}

/** @throws BerthError `invalid_argument / bad_selector` for an expression that can't be read, with its place. */
export function requireSelectors({ deviceRequests }: Pick<DevicesAsked, 'deviceRequests'>, at: string): void {
  for (const [n, { firstAvailable }] of deviceRequests.entries()) {
    for (const [m, { selectors }] of firstAvailable.entries()) {
      for (const [k, text] of selectors.entries()) {
        requireSelector(text, `${at}.device_requests[${n}].first_available[${m}].selectors[${k}]`);
      }
    }
  }
}

function requireSelector(text: string, field: string): void {
  try {
    parseSelectors(text);
  } catch (thrown) {
    const why = (thrown as Error).message.split('\n')[0];
    throw invalidArgument('bad_selector', `${field} can't be read: ${why}`, field);
  }
}
