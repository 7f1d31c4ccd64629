import {
  type DeviceAlternative,
  type DeviceConstraint,
  type DeviceRequest,
  type DevicesAsked,
  deviceSuffix,
} from '#libs/domain/devices/device-request';
import { invalidArgument } from '#libs/domain/errors';
import { costOfSelectors, parseSelectors, type Selector } from './selector';

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
  extends Pick<DeviceAlternative, 'count' | 'tolerations' | 'tolerationSeconds' | 'capacity'> {
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
    ...(alternative.tolerationSeconds ? { tolerationSeconds: alternative.tolerationSeconds } : {}),
    capacity: alternative.capacity,
    conditions: alternative.selectors.flatMap(parseSelectors),
  }));
  return { name: request.name, alternatives };
}

/** Steps of all expressions of one request together, for one device: an instance's are evaluated for each distinct device. */
export const MAX_REQUEST_COST = 5_000;

/**
 * @throws BerthError `invalid_argument / bad_selector` for an expression that can't be read, with its place, and where all
 *   together cost too much.
 */
export function requireSelectors({ deviceRequests }: Pick<DevicesAsked, 'deviceRequests'>, at: string): void {
  let cost = 0;
  for (const [n, { firstAvailable }] of deviceRequests.entries()) {
    for (const [m, { selectors }] of firstAvailable.entries()) {
      for (const [k, text] of selectors.entries()) {
        const field = `${at}.device_requests[${n}].first_available[${m}].selectors[${k}]`;
        cost += requireSelector(text, field);
        if (cost <= MAX_REQUEST_COST) continue;
        const message = `${field}: the expressions up to here may take ${cost} steps for a device, more than ${MAX_REQUEST_COST} for a request`;
        throw invalidArgument('bad_selector', message, field);
      }
    }
  }
}

function requireSelector(text: string, field: string): number {
  try {
    return costOfSelectors(text);
  } catch (thrown) {
    const why = (thrown as Error).message.split('\n')[0];
    throw invalidArgument('bad_selector', `${field} can't be read: ${why}`, field);
  }
}
