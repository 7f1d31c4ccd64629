import type { Allocations } from '#libs/domain/consumer';
import { classOfDevice, type Device } from '#libs/domain/devices/device';
import { untolerated } from '#libs/domain/devices/taints';
import { addResources, type Resources } from '#libs/domain/inventory';
import type { ProviderForest } from '#libs/placement/port/placement-view';
import type { CompiledAlternative, CompiledDevices, CompiledRequest } from './devices-asked';
import { type DeviceTaken, devicesIn, FreeAmounts, type HostDevice, takenOf } from './host-devices';

/** Devices for all requests of an instance on one host. */
export interface DeviceChoice {
  readonly allocations: Allocations;
  /** Providers by the key of each request's alternative. */
  readonly mappings: Readonly<Record<string, readonly string[]>>;
}

/** Devices tried on one host before the search of it ends: about a millisecond, and a decision may search every host. */
export const MAX_DEVICE_STEPS = 2_000;

interface Picked {
  readonly request: string;
  readonly suffix: string;
  readonly device: HostDevice;
  readonly taken: DeviceTaken;
}

/**
 * The devices of a host for all requests: for each the first of its alternatives that can be had beside the others', those
 * of earlier requests first; undefined when there is no way, or none is found within {@link MAX_DEVICE_STEPS}.
 *
 * Depth first: request by request, alternative by alternative, device by device in their order. Equal devices fail alike, so
 * that after one of them the others are not tried at the same place. What it finds first need not be of the first
 * alternatives: so each request in turn is narrowed to the first that leaves the later ones a way.
 *
 * @param mayHave  the devices that count; all when not given
 */
export function chooseDevices(
  compiled: CompiledDevices,
  forest: DeviceForest,
  rootUuid: string,
  mayHave?: (device: HostDevice) => boolean,
): DeviceChoice | undefined {
  const effort = { steps: 0 };
  const all = devicesIn(forest, rootUuid);
  const devices = mayHave ? all.filter(mayHave) : all;
  const picksOf = (requests: readonly CompiledRequest[]) => {
    const search = new Search({ ...compiled, requests }, devices, new FreeAmounts(forest), effort);
    return search.request(0) ? search.picks : undefined;
  };
  let { requests } = compiled;
  let picks = picksOf(requests);
  for (const [n, request] of requests.entries()) {
    for (const alternative of picks ? request.alternatives : []) {
      const narrowed = requests.with(n, { ...request, alternatives: [alternative] });
      const found = picks?.some(({ suffix }) => suffix === alternative.suffix) ? picks : picksOf(narrowed);
      if (!found) continue;
      [requests, picks] = [narrowed, found];
      break;
    }
  }
  return picks && choiceOf(picks);
}

/** The part of a host's providers that the search looks at. */
export type DeviceForest = Pick<ProviderForest, 'tree' | 'provider' | 'usage'>;

/** A device that an alternative may have, and what it would take. */
interface Suitable {
  readonly device: HostDevice;
  readonly taken: DeviceTaken;
}

/** A choice of an alternative's devices that is being made. */
interface Level {
  readonly request: number;
  readonly alternative: CompiledAlternative;
  readonly suitable: readonly Suitable[];
}

class Search {
  readonly picks: Picked[] = [];

  constructor(
    private readonly compiled: CompiledDevices,
    private readonly devices: readonly HostDevice[],
    private readonly free: FreeAmounts,
    private readonly effort: { steps: number },
  ) {}

  request(index: number): boolean {
    const request = this.compiled.requests[index];
    if (!request) return true;
    return request.alternatives.some((alternative) => {
      const suitable = suitableFor(alternative, this.devices);
      const count = alternative.count === 'all' ? countForAll(suitable, alternative, this.devices) : alternative.count;
      return suitable.length >= count && count > 0 && this.#choose({ request: index, alternative, suitable }, 0, count);
    });
  }

  /** Picks `count` more devices from the `from`th on, and then those of later requests. */
  #choose(level: Level, from: number, count: number): boolean {
    if (count === 0) return this.request(level.request + 1);
    const { suitable, alternative } = level;
    const request = this.compiled.requests[level.request] as CompiledRequest;
    const failed = new Set<string>();
    for (let n = from; n + count <= suitable.length; n++) {
      if (++this.effort.steps > MAX_DEVICE_STEPS) return false;
      const { device, taken } = suitable[n] as Suitable;
      if (!this.free.fits(device, taken) || !this.#isConsistent(request.name, device)) continue;
      const key = this.#symmetryKey(device, taken);
      if (failed.has(key)) continue;
      this.free.take(device, taken, 1);
      this.picks.push({ request: request.name, suffix: alternative.suffix, device, taken });
      if (this.#choose(level, n + 1, count - 1)) return true;
      this.picks.pop();
      this.free.take(device, taken, -1);
      failed.add(key);
    }
    return false;
  }

  /** True if the device has the value of each attribute that those picked before have, where it must. */
  #isConsistent(request: string, { device }: HostDevice): boolean {
    return this.compiled.constraints.every(({ requests, matchAttribute }) => {
      const isBound = (name: string) => requests.length === 0 || requests.includes(name);
      if (!isBound(request)) return true;
      const own = device.attributes[matchAttribute];
      if (own === undefined) return false;
      const before = this.picks.find((pick) => isBound(pick.request))?.device.device.attributes[matchAttribute];
      return before === undefined || (before.kind === own.kind && before.value === own.value);
    });
  }

  #symmetryKey(one: HostDevice, taken: DeviceTaken): string {
    return `${identity(one.device)} ${one.provider.parentUuid} ${this.free.key(one, taken)}`;
  }
}

/** Mirrors keep equal devices once, so that most equal ones are the same. */
function identity(device: object): number {
  const known = IDENTITIES.get(device);
  if (known !== undefined) return known;
  IDENTITIES.set(device, ++lastIdentity);
  return lastIdentity;
}

const IDENTITIES = new WeakMap<object, number>();
let lastIdentity = 0;

/** Devices that meet the conditions of an alternative and have no taint that it does not tolerate, in use or not. */
export function suitableFor(alternative: CompiledAlternative, devices: readonly HostDevice[]): Suitable[] {
  return devices.flatMap((device) => {
    const taken = meets(alternative, device) && takenOf(device, alternative);
    return taken && untolerated(device.device, alternative).length === 0 ? [{ device, taken }] : [];
  });
}

/** True for a device of the kind that is asked for. */
export function isOfClass(alternative: Pick<CompiledAlternative, 'resourceClass'>, device: Device): boolean {
  return classOfDevice(alternative) === classOfDevice(device);
}

export function meets(alternative: CompiledAlternative, { device }: HostDevice): boolean {
  const { conditions } = alternative;
  return isOfClass(alternative, device) && conditions.every((condition) => condition.matches(device) === true);
}

/** With `all`, a device that is tainted or too small is not left out: the host is none for the request. */
function countForAll(
  suitable: readonly Suitable[],
  alternative: CompiledAlternative,
  devices: readonly HostDevice[],
): number {
  const wanted = devices.filter((device) => meets(alternative, device)).length;
  return wanted === suitable.length ? wanted : Number.POSITIVE_INFINITY;
}

function choiceOf(picks: readonly Picked[]): DeviceChoice {
  const allocations: Record<string, Resources> = {};
  const mappings: Record<string, string[]> = {};
  const add = (uuid: string, amounts: DeviceTaken['own']) => {
    if (Object.keys(amounts).length > 0) allocations[uuid] = addResources(allocations[uuid] ?? {}, amounts);
  };
  for (const { suffix, device, taken } of picks) {
    const { uuid, parentUuid } = device.provider;
    add(uuid, taken.own);
    if (parentUuid !== undefined) add(parentUuid, taken.ofParent);
    (mappings[suffix] ??= []).push(uuid);
  }
  return { allocations, mappings };
}
