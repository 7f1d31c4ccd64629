import type { Resources } from '../inventory';
import { classOfDevice } from './device';

/**
 * Devices that a request asks for under a name: the first of its alternatives that a host can give, each of which is a
 * number of devices that meet conditions (DRA's prioritised list).
 */
export interface DeviceRequest {
  /** Stands in mappings, events and the build order: `device:<name>`. */
  readonly name: string;
  /** At least one, best first. */
  readonly firstAvailable: readonly DeviceAlternative[];
}

export interface DeviceAlternative {
  /** '' unless it has one: `device:<request>/<alternative>` then. */
  readonly name: string;
  /** The kind of the devices; those of no kind unless given. */
  readonly resourceClass?: string | undefined;
  /** Number of devices; `all`: each device of the host that meets the conditions, and at least one. */
  readonly count: number | 'all';
  /** Expressions in CEL over `device`, all of which must be true. */
  readonly selectors: readonly string[];
  /** By the key of a taint: its value, a condition with the operators of extra specs, or `*` for any value. */
  readonly tolerations: Readonly<Record<string, string>>;
  /** By the key of a toleration: for how long after the taint it holds, where that moves instances away; for good when missing. */
  readonly tolerationSeconds?: Readonly<Record<string, number>>;
  /** Amounts of capacities that each device must have; of a shared device they are what is taken. */
  readonly capacity: Readonly<Record<string, number>>;
}

/** All devices of some requests have the same value of an attribute. */
export interface DeviceConstraint {
  /** Names of requests; empty for all. */
  readonly requests: readonly string[];
  readonly matchAttribute: string;
}

/** The part of a request that is about devices. */
export interface DevicesAsked {
  readonly deviceRequests: readonly DeviceRequest[];
  readonly deviceConstraints: readonly DeviceConstraint[];
}

/**
 * The least that requests take of each class of devices: of their alternatives that which takes least of it. A host may give
 * another alternative.
 */
export function leastDevices({ deviceRequests }: Pick<DevicesAsked, 'deviceRequests'>): Resources {
  const least: Record<string, number> = {};
  for (const { firstAvailable } of deviceRequests) {
    for (const name of new Set(firstAvailable.map(classOfDevice))) {
      const counts = firstAvailable.map((one) => (classOfDevice(one) === name ? leastOf(one) : 0));
      const amount = Math.min(...counts);
      if (amount > 0) least[name] = (least[name] ?? 0) + amount;
    }
  }
  return least;
}

function leastOf({ count }: DeviceAlternative): number {
  return count === 'all' ? 1 : count;
}

/** The most devices that requests take, whichever alternatives are chosen. */
export function deviceCount(deviceRequests: readonly DeviceRequest[]): number {
  return deviceRequests.reduce((sum, { firstAvailable }) => sum + Math.max(...firstAvailable.map(leastOf)), 0);
}

const SCOPE = 'device:';

/** The key in mappings under which the devices of a request's alternative stand. */
export function deviceSuffix(request: DeviceRequest, alternative: DeviceAlternative): string {
  return alternative.name === '' ? `${SCOPE}${request.name}` : `${SCOPE}${request.name}/${alternative.name}`;
}

/** True for a key of mappings that names devices, and not a request group. */
export function isDeviceSuffix(suffix: string): boolean {
  return suffix.startsWith(SCOPE);
}

/** The name of a request or an alternative. */
export function isDeviceRequestName(text: string): boolean {
  return REQUEST_NAME.test(text);
}

/** The rule of `isDeviceRequestName`. */
export const DEVICE_REQUEST_NAME_PATTERN = '^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$';
const REQUEST_NAME = new RegExp(DEVICE_REQUEST_NAME_PATTERN);
