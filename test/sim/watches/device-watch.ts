import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Consumer } from '#libs/domain/consumer';
import type { Device } from '#libs/domain/devices/device';
import { isDeviceSuffix } from '#libs/domain/devices/device-request';
import { deviceRequestsFor } from '#libs/domain/extra-specs/resolve';
import type { Instance } from '#libs/domain/instance';
import type { Provider } from '#libs/domain/provider';
import type { Change } from '#libs/placement/port/placement-store';
import { WORN } from '../machine';
import { CLOCK_TOLERANCE_MS as CLOCKS_MS } from '../settings';
import { STALE_MS } from './zone-watch';

/** A device as its row was from some time on. */
interface Facts {
  readonly sinceMs: number;
  readonly device: Device;
}

/** Devices of hosts as the store has them, and who has them. */
export class DeviceWatch {
  readonly #facts = new Map<string, Facts[]>();
  /** Devices of each consumer, by its uuid. */
  readonly #held = new Map<string, readonly string[]>();

  /** The store went back: its devices are, and its consumers hold, what they were and held then. */
  storeWentBack(consumers: readonly Consumer[], providers: readonly Provider[], atMs: number): void {
    this.#note(providers, atMs);
    this.#held.clear();
    for (const consumer of consumers) this.#hold(consumer);
  }

  #note(providers: readonly Provider[], atMs: number): void {
    for (const { uuid, device } of providers) {
      if (device) this.#facts.set(uuid, [...(this.#facts.get(uuid) ?? []), { sinceMs: atMs, device }]);
    }
  }

  #hold({ uuid, allocations }: Consumer): void {
    const held = Object.keys(allocations).filter((provider) => this.#facts.has(provider));
    this.#held.set(uuid, held);
  }

  /** Fault after a change of the store: a device with two owners that one alone may have. */
  take({ providers = [], consumers = [], deletedConsumers = [] }: Change, atMs: number): string | undefined {
    this.#note(providers, atMs);
    for (const uuid of deletedConsumers) this.#held.delete(uuid);
    for (const consumer of consumers) this.#hold(consumer);
    const owners = new Map<string, string>();
    for (const [consumer, devices] of this.#held) {
      for (const device of devices) {
        const other = owners.get(device);
        if (other !== undefined) return `${device} is ${other}'s and ${consumer}'s`;
        owners.set(device, consumer);
      }
    }
    return undefined;
  }

  /** Fault of a new claim: its devices must have been what it wants, without a taint that it does not tolerate, lately. */
  wrongOf({ uuid, mappings, createdAtMs }: Consumer, { requestSpec, state }: Instance): string | undefined {
    const deviceRequests = deviceRequestsFor(requestSpecCodec.decode(requestSpec));
    const chosen = Object.entries(mappings).filter(([suffix]) => isDeviceSuffix(suffix));
    // A resized instance may be claimed for another spec than its record has yet.
    const isNew = state === 'scheduling' || state === 'building';
    if (isNew && chosen.length !== deviceRequests.length) return `${uuid} asks for devices and has ${chosen.length}`;
    for (const [suffix, devices] of chosen) {
      const alternative = deviceRequests[0]?.firstAvailable.find(
        ({ name }) => `device:card${name && `/${name}`}` === suffix,
      );
      if (!alternative || devices.length !== alternative.count) return `${uuid} has ${devices.length} as ${suffix}`;
      const [, operator, size] = /size (==|>=) (\d)/.exec(alternative.selectors[0] ?? '') ?? [];
      for (const device of devices) {
        const lately = this.#since(device, createdAtMs - STALE_MS);
        const has = lately.at(-1)?.attributes['size']?.value;
        const isMet = operator === '==' ? has === Number(size) : Number(has) >= Number(size);
        if (lately.length > 0 && !isMet) return `${uuid} wants ${alternative.selectors[0]}, ${device} has ${has}`;
        const isWorn = lately.length > 0 && lately.every(({ taints }) => WORN in taints);
        if (isWorn && !(WORN in alternative.tolerations)) return `${uuid} has ${device}, which is worn`;
      }
    }
    return undefined;
  }

  /** True if an instance should have been moved off a device by a time, and is to leave it still. */
  shouldHaveLeft(instance: Instance, byMs: number): boolean {
    const seconds = secondsOf(instance);
    return (this.#held.get(instance.uuid) ?? []).some((device) => {
      const sinceMs = this.#facts.get(device)?.at(-1)?.device.evicts?.[WORN];
      return sinceMs !== undefined && sinceMs + seconds * 1_000 < byMs;
    });
  }

  /**
   * True if an instance is to leave a device, or was lately: it does not tolerate a taint that moves it away, or only for some
   * seconds, by an oracle of its own. `ofLateMs`: how long ago that may have been.
   */
  isEvicted(instance: Instance, atMs: number, ofLateMs: number): boolean {
    const seconds = secondsOf(instance);
    return (this.#held.get(instance.uuid) ?? []).some((device) =>
      this.#since(device, atMs - ofLateMs).some(({ evicts }) => {
        const sinceMs = evicts?.[WORN];
        return sinceMs !== undefined && sinceMs + seconds * 1_000 <= atMs + CLOCKS_MS;
      }),
    );
  }

  /** States of a device since then. */
  #since(uuid: string, fromMs: number): readonly Device[] {
    const facts = this.#facts.get(uuid) ?? [];
    const isLater = (_: Facts, n: number) => (facts[n + 1]?.sinceMs ?? Number.POSITIVE_INFINITY) >= fromMs;
    return facts.filter(isLater).map(({ device }) => device);
  }
}

/** For how long a request tolerates a worn device; all of its alternatives do alike. */
function secondsOf({ requestSpec }: Instance): number {
  const one = deviceRequestsFor(requestSpecCodec.decode(requestSpec))[0]?.firstAvailable[0];
  // An adopted record does not say what it tolerates.
  if (one === undefined) return Number.POSITIVE_INFINITY;
  return WORN in one.tolerations ? (one.tolerationSeconds?.[WORN] ?? Number.POSITIVE_INFINITY) : 0;
}
