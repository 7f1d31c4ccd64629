import { capacityClass, classOfDevice, type Device, isShared, stepsOf } from '#libs/domain/devices/device';
import { capacityOf, type Resources } from '#libs/domain/inventory';
import type { Provider } from '#libs/domain/provider';
import type { ProviderForest } from '#libs/placement/port/placement-view';
import type { CompiledAlternative } from './devices-asked';

/** A device of a host, and the provider that it is. */
export interface HostDevice {
  readonly provider: Provider;
  readonly device: Device;
}

/** The devices in a tree, those first that leave most for others: that take fewest of shared counters, then by name. */
export function devicesIn(forest: Pick<ProviderForest, 'tree'>, rootUuid: string): readonly HostDevice[] {
  const tree = forest.tree(rootUuid);
  const known = KNOWN.get(tree);
  if (known) return known;
  const found = tree.flatMap((provider) => (provider.device ? [{ provider, device: provider.device }] : []));
  const made = found.sort((a, b) => sizeOf(a) - sizeOf(b) || (a.provider.name < b.provider.name ? -1 : 1));
  KNOWN.set(tree, made);
  return made;
}

/** By the list of a tree's providers, which is immutable. */
const KNOWN = new WeakMap<readonly Provider[], readonly HostDevice[]>();

function sizeOf({ device }: HostDevice): number {
  return Object.values(device.consumes).reduce((sum, amount) => sum + amount, 0);
}

/** Amounts that one consumer takes: of the device's own provider, and of the one above. */
export interface DeviceTaken {
  readonly own: Resources;
  readonly ofParent: Resources;
}

/**
 * Amounts that a consumer of a device takes by an alternative; undefined when the device has less than is asked. A device with one
 * consumer is taken whole. Of a shared one the amounts asked are taken, and all of a capacity that is not named.
 */
export function takenOf(
  { device }: HostDevice,
  { capacity }: Pick<CompiledAlternative, 'capacity'>,
): DeviceTaken | undefined {
  for (const name in capacity) {
    if ((device.capacity[name]?.amount ?? 0) < (capacity[name] as number)) return undefined;
  }
  const own: Record<string, number> = { [classOfDevice(device)]: 1 };
  for (const [name, one] of isShared(device) ? Object.entries(device.capacity) : []) {
    const steps = stepsOf(one, capacity[name] ?? one.amount);
    if (steps > 0) own[capacityClass(name)] = steps;
  }
  return { own, ofParent: device.consumes };
}

/** Free amounts of a host's providers, from which picks take. */
export class FreeAmounts {
  readonly #left = new Map<string, number>();

  constructor(private readonly forest: Pick<ProviderForest, 'provider' | 'usage'>) {}

  fits({ provider: { uuid, parentUuid } }: HostDevice, { own, ofParent }: DeviceTaken): boolean {
    return this.#has(uuid, own) && (parentUuid === undefined || this.#has(parentUuid, ofParent));
  }

  /** Takes what a pick takes, or with −1 gives it back. */
  take({ provider: { uuid, parentUuid } }: HostDevice, { own, ofParent }: DeviceTaken, sign: 1 | -1): void {
    this.#change(uuid, own, sign);
    if (parentUuid !== undefined) this.#change(parentUuid, ofParent, sign);
  }

  /** Free amounts of a device's classes, as a key. */
  key({ provider: { uuid } }: HostDevice, { own }: DeviceTaken): string {
    return Object.keys(own)
      .map((name) => this.#free(uuid, name))
      .join();
  }

  #has(uuid: string, amounts: Resources): boolean {
    for (const name in amounts) if (this.#free(uuid, name) < (amounts[name] as number)) return false;
    return true;
  }

  #change(uuid: string, amounts: Resources, sign: 1 | -1): void {
    for (const name in amounts)
      this.#left.set(`${uuid} ${name}`, this.#free(uuid, name) - sign * (amounts[name] as number));
  }

  #free(uuid: string, name: string): number {
    const known = this.#left.get(`${uuid} ${name}`);
    if (known !== undefined) return known;
    const inventory = this.forest.provider(uuid)?.inventories[name];
    const left = inventory ? capacityOf(inventory) - (this.forest.usage(uuid)[name] ?? 0) : 0;
    this.#left.set(`${uuid} ${name}`, left);
    return left;
  }
}
