import type { Selector } from '#libs/devices/selector';
import { classOfDevice } from '#libs/domain/devices/device';
import { untolerated } from '#libs/domain/devices/taints';
import { type DeviceForest, isOfClass, suitableFor } from './choose-devices';
import type { CompiledAlternative, CompiledRequest } from './devices-asked';
import { devicesIn, FreeAmounts, type HostDevice, takenOf } from './host-devices';

/**
 * The one condition by which a host has too few devices for a request, by itself. `condition`: without this expression it
 * would have enough. Of several alternatives it is the condition of the one that is nearest.
 */
export type DeviceRefusal =
  | { readonly kind: 'condition'; readonly condition: Selector; readonly place: number }
  | { readonly kind: 'absent' | 'capacity' | 'tainted' | 'taken' };

/** Nearest first. */
const NEARNESS = ['taken', 'tainted', 'capacity', 'condition', 'absent'];

/** Why a host's devices do not do for one request, whatever the others take; undefined when they do. */
export function deviceRefusal(
  request: CompiledRequest,
  forest: DeviceForest,
  rootUuid: string,
): DeviceRefusal | undefined {
  const devices = devicesIn(forest, rootUuid);
  const free = new FreeAmounts(forest);
  let nearest: DeviceRefusal | undefined;
  for (const alternative of request.alternatives) {
    const refusal = refusalOfAlternative(alternative, devices, free);
    if (!refusal) return undefined;
    if (!nearest || NEARNESS.indexOf(refusal.kind) < NEARNESS.indexOf(nearest.kind)) nearest = refusal;
  }
  return nearest;
}

/** The place of the first alternative that a host has devices for, by itself; the number of alternatives for none. */
export function firstMet(request: CompiledRequest, forest: DeviceForest, rootUuid: string): number {
  const devices = devicesIn(forest, rootUuid);
  const free = new FreeAmounts(forest);
  const place = request.alternatives.findIndex((one) => !refusalOfAlternative(one, devices, free));
  return place < 0 ? request.alternatives.length : place;
}

function refusalOfAlternative(
  alternative: CompiledAlternative,
  devices: readonly HostDevice[],
  free: FreeAmounts,
): DeviceRefusal | undefined {
  const meeting: HostDevice[] = [];
  /** Devices that fail one condition only, by its place. */
  const nearly = new Map<number, HostDevice[]>();
  for (const device of devices.filter((one) => isOfClass(alternative, one.device))) {
    const failed = failedBy(alternative, device);
    if (failed === undefined) meeting.push(device);
    else if (failed.isOnly) getOrAdd(nearly, failed.place).push(device);
  }
  const count = alternative.count === 'all' ? Math.max(1, meeting.length) : alternative.count;
  const areEnough = (some: readonly HostDevice[]) => {
    const usable = suitableFor({ ...alternative, conditions: [] }, some);
    return usable.filter(({ device, taken }) => free.fits(device, taken)).length >= count;
  };
  if (meeting.length < count) {
    const places = [...nearly.keys()].sort((a, b) => a - b);
    const place = places.find((one) => areEnough([...meeting, ...(nearly.get(one) ?? [])])) ?? -1;
    const condition = alternative.conditions[place];
    return condition ? { kind: 'condition', condition, place } : { kind: 'absent' };
  }
  const large = meeting.filter((device) => takenOf(device, alternative));
  if (large.length < count) return { kind: 'capacity' };
  const tolerated = large.filter(({ device }) => untolerated(device, alternative).length === 0);
  if (tolerated.length < count) return { kind: 'tainted' };
  return areEnough(tolerated) ? undefined : { kind: 'taken' };
}

/** The first condition that a device does not meet, and whether it is the only one; undefined when it meets all. */
function failedBy(
  { conditions }: CompiledAlternative,
  { device }: HostDevice,
): { readonly place: number; readonly isOnly: boolean } | undefined {
  const fails = (condition: Selector) => condition.matches(device) !== true;
  const place = conditions.findIndex(fails);
  if (place < 0) return undefined;
  // An expression that is given twice is one condition.
  const isOnly = !conditions.slice(place + 1).some((one) => one !== conditions[place] && fails(one));
  return { place, isOnly };
}

function getOrAdd(lists: Map<number, HostDevice[]>, key: number): HostDevice[] {
  const known = lists.get(key);
  if (known) return known;
  const made: HostDevice[] = [];
  lists.set(key, made);
  return made;
}

/** Reason against each device of a host for a request, in words: at most so many devices. */
export function deviceFacts(
  request: CompiledRequest,
  forest: DeviceForest,
  rootUuid: string,
  hostName: string,
): readonly string[] {
  const devices = devicesIn(forest, rootUuid);
  if (devices.length === 0) return ['the host has no devices'];
  const free = new FreeAmounts(forest);
  const shown = devices.slice(0, MAX_DEVICES_TOLD).map((device) => {
    const name = device.provider.name.slice(hostName.length + 1) || device.provider.name;
    return `${name} ${request.alternatives.map((one) => factOf(one, device, free)).join(', or ')}`;
  });
  return devices.length > MAX_DEVICES_TOLD ? [...shown, `${devices.length - MAX_DEVICES_TOLD} more`] : shown;
}

const MAX_DEVICES_TOLD = 8;

function factOf(alternative: CompiledAlternative, device: HostDevice, free: FreeAmounts): string {
  if (!isOfClass(alternative, device.device)) return `is ${classOfDevice(device.device)}`;
  for (const condition of alternative.conditions) {
    const value = condition.matches(device.device);
    if (value !== true)
      return value === false ? `is not ${condition.text}` : `has no value for ${condition.text} (${value})`;
  }
  const taken = takenOf(device, alternative);
  if (!taken) return `has not ${wordsOf(alternative.capacity)}`;
  const taints = untolerated(device.device, alternative);
  if (taints.length > 0) return `is tainted ${taints.join(', ')}`;
  return free.fits(device, taken) ? 'is free' : 'is in use';
}

function wordsOf(capacity: Readonly<Record<string, number>>): string {
  return Object.entries(capacity)
    .map(([name, amount]) => `${amount} ${name}`)
    .join(', ');
}
