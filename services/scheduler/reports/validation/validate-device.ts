import type { NestedProvider, UpdateResourceStatsRequest } from '#libs/contracts/stats';
import {
  capacityClass,
  DEVICE_CLASS,
  type Device,
  deviceInventories,
  isShared,
  stepsOf,
} from '#libs/domain/devices/device';
import { invalidArgument } from '#libs/domain/errors';
import { type Inventories, MAX_AMOUNT } from '#libs/domain/inventory';
import { requireClass } from './validate-provider';

/**
 * Checks the devices of a report: that the inventories of each are those that follow from it, so that it can't be taken in
 * another way too, and that its parent has the counters that it consumes.
 *
 * @throws BerthError `invalid_argument`: bad_amount, duplicate_capacity, device_inventories, unknown_class.
 */
export function checkDevices({ nestedProviders, inventories }: UpdateResourceStatsRequest): void {
  if (nestedProviders.every(({ device }) => device === undefined)) return;
  const byName = new Map(nestedProviders.map((one) => [one.name, one.inventories]));
  for (const [index, provider] of nestedProviders.entries()) {
    const { device, parent } = provider;
    if (device === undefined) continue;
    const at = `nested_providers[${index}]`;
    checkCapacities(device, `${at}.device`);
    if (device.resourceClass !== undefined) checkClass(device.resourceClass, `${at}.device.resource_class`);
    checkInventories(provider, device, at);
    checkCounters(device, parent === '' ? inventories : (byName.get(parent) ?? {}), `${at}.device`);
  }
}

function checkCapacities(device: Device, at: string): void {
  const classes = new Map<string, string>();
  for (const [name, one] of Object.entries(device.capacity)) {
    const resourceClass = capacityClass(name);
    const other = classes.get(resourceClass);
    if (other !== undefined) {
      const message = `${at}.capacity has ${other} and ${name}, which are both ${resourceClass}`;
      throw invalidArgument('duplicate_capacity', message, `${at}.capacity`);
    }
    classes.set(resourceClass, name);
    requireClass(resourceClass, `${at}.capacity.${name}`);
    if (!isShared(device) || stepsOf(one, one.amount) <= MAX_AMOUNT) continue;
    const message = `${at}.capacity.${name} is shared in more than ${MAX_AMOUNT} steps: report a larger step`;
    throw invalidArgument('bad_amount', message, `${at}.capacity.${name}`);
  }
  if (device.consumers > MAX_AMOUNT) {
    throw invalidArgument('bad_amount', `${at}.consumers must be at most ${MAX_AMOUNT}`, `${at}.consumers`);
  }
}

/** A class of a capacity would be counted for both. */
function checkClass(resourceClass: string, at: string): void {
  requireClass(resourceClass, at);
  if (!resourceClass.startsWith(`${DEVICE_CLASS}_`)) return;
  const message = `${at}: '${resourceClass}' is the name of a capacity's class: choose another`;
  throw invalidArgument('duplicate_capacity', message, at);
}

function checkInventories({ inventories }: NestedProvider, device: Device, at: string): void {
  const expected = deviceInventories(device);
  const isSame = (name: string) => {
    const [own, other] = [inventories[name], expected[name]];
    return own !== undefined && own.total === other?.total && own.allocationRatio === 1 && own.stepSize === 1;
  };
  const wrong = [...new Set([...Object.keys(expected), ...Object.keys(inventories)])].find((name) => !isSame(name));
  if (wrong === undefined) return;
  const message = `${at}.inventories.${wrong} is not what follows from the device: ${wordsOf(expected)}`;
  throw invalidArgument('device_inventories', message, `${at}.inventories.${wrong}`);
}

function wordsOf(inventories: Inventories): string {
  return Object.entries(inventories)
    .map(([name, { total }]) => `${name}=${total}`)
    .join(', ');
}

function checkCounters({ consumes }: Device, above: Inventories, at: string): void {
  for (const name in consumes) {
    const field = `${at}.consumes.${name}`;
    requireClass(name, field);
    if (above[name] !== undefined) continue;
    throw invalidArgument('unknown_class', `${field}: its parent has no inventory of ${name}`, field);
  }
}
