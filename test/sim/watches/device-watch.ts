import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Consumer } from '#libs/domain/consumer';
import type { Device } from '#libs/domain/devices/device';
import { isDeviceSuffix } from '#libs/domain/devices/device-request';
import type { Instance } from '#libs/domain/instance';
import type { Change } from '#libs/placement/port/placement-store';
import { WORN } from '../machine';
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

  /** The store went back: its consumers hold what they held then. */
  storeWentBack(consumers: readonly Consumer[]): void {
    this.#held.clear();
    for (const consumer of consumers) this.#hold(consumer);
  }

  #hold({ uuid, allocations }: Consumer): void {
    const held = Object.keys(allocations).filter((provider) => this.#facts.has(provider));
    this.#held.set(uuid, held);
  }

  /** Fault after a change of the store: a device with two owners that one alone may have. */
  take({ providers = [], consumers = [], deletedConsumers = [] }: Change, atMs: number): string | undefined {
    for (const { uuid, device } of providers) {
      if (device) this.#facts.set(uuid, [...(this.#facts.get(uuid) ?? []), { sinceMs: atMs, device }]);
    }
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
    const { deviceRequests } = requestSpecCodec.decode(requestSpec);
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

  /** States of a device since then. */
  #since(uuid: string, fromMs: number): readonly Device[] {
    const facts = this.#facts.get(uuid) ?? [];
    const isLater = (_: Facts, n: number) => (facts[n + 1]?.sinceMs ?? Number.POSITIVE_INFINITY) >= fromMs;
    return facts.filter(isLater).map(({ device }) => device);
  }
}
