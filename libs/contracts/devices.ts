import { berth } from '#generated/berth';
import { type Device, type DeviceAttribute, type DeviceCapacity, isQualifiedName } from '../domain/devices/device';
import {
  type DeviceAlternative,
  type DeviceRequest,
  type DevicesAsked,
  deviceCount,
  isDeviceRequestName,
} from '../domain/devices/device-request';
import {
  MAX_ATTRIBUTE_BYTES,
  MAX_DEVICE_ALTERNATIVES,
  MAX_DEVICE_ATTRIBUTES,
  MAX_DEVICE_REQUESTS,
  MAX_DEVICE_TAINTS,
  MAX_DEVICES_ASKED,
  MAX_SELECTOR_BYTES,
} from '../domain/devices/limits';
import { parseVersion } from '../domain/devices/version';
import { type BerthError, invalidArgument } from '../domain/errors';
import { isClassOrTraitName } from '../domain/names';
import { amounts, badName, missing, textOf, tooMany } from './checks';
import type { Conversion, Field } from './field';
import { itemRules, ruled, rulesOf } from './field-rules';
import { anyText, count, enumOf, flag, list, map, orEmpty, orUndefined, requiredList } from './fields';
import { mapped, message } from './message';

const wire = berth.device.v1;

/** The kind of a device, or of those that are asked for; none when it is not given. */
const kindOfDevice = orUndefined(
  ruled({ format: 'class_or_trait' }, (value: string, path: string): string => {
    if (!isClassOrTraitName(value)) throw badName(path, value, 'a resource class');
    return value;
  }),
);

const qualifiedName = ruled({ required: true, format: 'qualified_name' }, (value: string, path: string): string => {
  if (value === '') throw missing(path);
  if (!isQualifiedName(value)) throw badName(path, value, 'a name, or domain/name');
  return value;
});

/** A map by qualified names, of at most so many entries. */
function named<T, W>(
  of: Field<T, W>,
  max: number,
): Conversion<Readonly<Record<string, T>>, Readonly<Record<string, W>> | null | undefined> {
  const { fromWire, toWire } = map(of);
  return ruled(
    { maxPairs: max, keys: rulesOf(qualifiedName) ?? {}, values: itemRules(of) },
    {
      fromWire(values: Readonly<Record<string, W>> | null | undefined, path: string, whole: unknown) {
        const keys = Object.keys(values ?? {});
        if (keys.length > max) throw tooMany(path, max);
        const bad = keys.find((key) => !isQualifiedName(key));
        if (bad !== undefined) throw badName(path, bad, 'a name, or domain/name');
        return fromWire(values, path, whole);
      },
      toWire,
    },
  );
}

const requestName = ruled({ required: true, format: 'device_request_name' }, (value: string, path: string): string => {
  if (value === '') throw missing(path);
  if (!isDeviceRequestName(value)) throw badName(path, value, 'up to 32 letters a-z, digits and -');
  return value;
});

function amountFrom(least: number) {
  return ruled({ gte: least }, (value: number, path: string): number => {
    if (Number.isSafeInteger(value) && value >= least) return value;
    throw invalidArgument('bad_amount', `${path} must be a whole amount from ${least}`, path);
  });
}

const attributeType = enumOf(wire.AttributeType, 'ATTRIBUTE_TYPE');
/** The text of an attribute, the value of a taint, or the condition of a toleration. */
const shortText = textOf(MAX_ATTRIBUTE_BYTES);

const attribute = mapped(
  message(wire.Attribute, { type: attributeType, text: shortText, number: count }, { check: checkAttribute }),
  ({ type, text, number }): DeviceAttribute => {
    switch (type) {
      case 'bool':
        return { kind: 'bool', value: number !== 0 };
      case 'int':
        return { kind: 'int', value: number };
      case 'string':
      case 'version':
        return { kind: type, value: text };
    }
  },
  ({ kind, value }) => ({
    type: kind,
    text: typeof value === 'string' ? value : '',
    number: typeof value === 'string' ? 0 : Number(value),
  }),
);

function checkAttribute(
  { type, text, number }: { readonly type: string; readonly text: string; readonly number: number },
  path: string,
): void {
  if (type === 'version' && !parseVersion(text)) {
    throw invalidArgument('bad_version', `${path} must be a semantic version, not '${text.slice(0, 64)}'`, path);
  }
  if (!Number.isSafeInteger(number)) throw invalidArgument('bad_number', `${path} must be a whole number`, path);
}

const capacity = mapped(
  message(wire.Capacity, { amount: amountFrom(0), step: amountFrom(0) }),
  ({ amount, step }): DeviceCapacity => ({ amount, step: step === 0 ? 1 : step }),
  ({ amount, step }) => ({ amount, step }),
);

/** An operator's taint of a device. */
export const taintKey = qualifiedName;
export const taintValue = shortText;
/** The taints of a device, its agent's and operators'. */
export const deviceTaints = named(shortText, 2 * MAX_DEVICE_TAINTS);

/** A device as its agent reports it; what follows from several fields is for the scheduler to check. */
export const device = mapped(
  message(wire.Device, {
    attributes: named(attribute, MAX_DEVICE_ATTRIBUTES),
    capacity: named(capacity, MAX_DEVICE_ATTRIBUTES / 2),
    consumers: count,
    taints: named(shortText, MAX_DEVICE_TAINTS),
    noExecute: list(qualifiedName, MAX_DEVICE_TAINTS),
    consumes: amounts,
    resourceClass: kindOfDevice,
  }),
  ({ noExecute, resourceClass, ...one }): Device => {
    const evicting = noExecute.filter((key) => Object.hasOwn(one.taints, key));
    // The store says since when.
    const evicts = evicting.length > 0 && { evicts: Object.fromEntries(evicting.map((key) => [key, 0])) };
    return { ...one, consumers: Math.max(1, one.consumers), ...evicts, ...(resourceClass && { resourceClass }) };
  },
  ({ evicts = {}, resourceClass, ...one }) => ({ ...one, resourceClass, noExecute: Object.keys(evicts) }),
);

const alternative = mapped(
  message(wire.DeviceAlternative, {
    name: orEmpty(requestName),
    count,
    all: flag,
    selectors: list(textOf(MAX_SELECTOR_BYTES), MAX_DEVICE_ALTERNATIVES),
    tolerations: named(shortText, MAX_DEVICE_ATTRIBUTES),
    tolerationSeconds: named(amountFrom(1), MAX_DEVICE_ATTRIBUTES),
    capacity: named(amountFrom(1), MAX_DEVICE_ATTRIBUTES / 2),
    resourceClass: kindOfDevice,
  }),
  ({ all, count: said, tolerationSeconds, resourceClass, ...rest }): DeviceAlternative => {
    const limited = Object.keys(tolerationSeconds).length > 0 && { tolerationSeconds };
    const ofClass = resourceClass !== undefined && { resourceClass };
    return { ...rest, count: all ? 'all' : Math.max(1, said), ...ofClass, ...limited };
  },
  ({ count: wanted, tolerationSeconds = {}, resourceClass, ...rest }) => {
    return { ...rest, resourceClass, tolerationSeconds, all: wanted === 'all', count: wanted === 'all' ? 0 : wanted };
  },
);

const request = message(
  wire.DeviceRequest,
  { name: requestName, firstAvailable: requiredList(alternative, MAX_DEVICE_ALTERNATIVES) },
  { check: checkRequest },
);

function checkRequest({ firstAvailable }: DeviceRequest, path: string): void {
  const names = firstAvailable.map(({ name }) => name);
  const twice = names.findIndex((name, n) => names.indexOf(name) !== n);
  if (twice >= 0) throw duplicate(`${path}.first_available[${twice}].name`, names[twice] ?? '');
  for (const [n, { tolerations, tolerationSeconds = {} }] of firstAvailable.entries()) {
    const unknown = Object.keys(tolerationSeconds).find((key) => !Object.hasOwn(tolerations, key));
    if (unknown === undefined) continue;
    const field = `${path}.first_available[${n}].toleration_seconds`;
    throw invalidArgument('unknown_value', `there is no toleration of '${unknown}'`, field);
  }
}

export const deviceRequests = list(request, MAX_DEVICE_REQUESTS);

export const deviceConstraints = list(
  message(wire.DeviceConstraint, { requests: list(anyText, MAX_DEVICE_REQUESTS), matchAttribute: qualifiedName }),
  MAX_DEVICE_REQUESTS,
);

/**
 * Checks requests of devices against each other.
 *
 * @throws BerthError `invalid_argument`: duplicate_device_request, unknown_value, too_many.
 */
export function checkDevices(
  { deviceRequests: requests, deviceConstraints: constraints }: DevicesAsked,
  path: string,
): void {
  const names = requests.map(({ name }) => name);
  const twice = names.findIndex((name, n) => names.indexOf(name) !== n);
  if (twice >= 0) throw duplicate(`${path}.device_requests[${twice}].name`, names[twice] ?? '');
  for (const [n, { requests: bound }] of constraints.entries()) {
    const unknown = bound.find((name) => !names.includes(name));
    if (unknown === undefined) continue;
    const field = `${path}.device_constraints[${n}].requests`;
    throw invalidArgument('unknown_value', `there is no request of devices '${unknown.slice(0, 64)}'`, field);
  }
  if (deviceCount(requests) > MAX_DEVICES_ASKED) throw tooMany(`${path}.device_requests`, MAX_DEVICES_ASKED);
}

function duplicate(field: string, name: string): BerthError {
  const problem = name === '' ? 'two have no name' : `two are called '${name}'`;
  return invalidArgument('duplicate_device_request', `${field}: ${problem}`, field);
}
