import { type Inventories, inventory, type Resources } from '../inventory';

/**
 * A device of a host: a nested provider with typed attributes. What is claimed of it is inventory, so that the store
 * bounds it as all else; attributes and taints say which requests may have it. The words are those of Kubernetes' dynamic
 * resource allocation (DRA, structured parameters).
 */
export interface Device {
  /** By name, `model` or `gpu.example.com/model`. */
  readonly attributes: Readonly<Record<string, DeviceAttribute>>;
  /** By name. Of a device with one consumer they describe; several consumers share them. */
  readonly capacity: Readonly<Record<string, DeviceCapacity>>;
  /** Number of instances that may have it at once: 1 for a device of its own. */
  readonly consumers: number;
  /** Values by key: only requests that tolerate each of them get the device. */
  readonly taints: Readonly<Record<string, string>>;
  /** Taints by which instances that have it and do not tolerate them are moved away (NoExecute): since when, by key. */
  readonly evicts?: Readonly<Record<string, number>>;
  /** Amounts that a claim of it takes of its parent provider: a partition, of the counters that partitions share. */
  readonly consumes: Resources;
  /** Its kind, such as CUSTOM_GPU, which requests name and quotas limit; {@link DEVICE_CLASS} unless given. */
  readonly resourceClass?: string | undefined;
}

/** A typed value; versions are semantic versions and compare as such. */
export type DeviceAttribute =
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'int'; readonly value: number }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'version'; readonly value: string };

/** An amount, and the step in which it is shared out: the store counts steps. */
export interface DeviceCapacity {
  readonly amount: number;
  readonly step: number;
}

/** The resource class of devices of no kind: one consumer takes 1. */
export const DEVICE_CLASS = 'CUSTOM_DEVICE';

/** The resource class of a capacity that consumers share: `memory` is CUSTOM_DEVICE_MEMORY. */
export function capacityClass(name: string): string {
  return `${DEVICE_CLASS}_${name.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`;
}

/** The resource class of which a consumer of a device takes 1. */
export function classOfDevice({ resourceClass = DEVICE_CLASS }: Pick<Device, 'resourceClass'>): string {
  return resourceClass;
}

/** True if several instances may share a device, each with an amount of its capacities. */
export function isShared({ consumers }: Device): boolean {
  return consumers > 1;
}

/** The inventories of a device's provider, which follow from it. */
export function deviceInventories(device: Device): Inventories {
  const { capacity, consumers } = device;
  const shared = isShared(device) ? Object.entries(capacity) : [];
  return {
    [classOfDevice(device)]: inventory(consumers, { maxUnit: 1 }),
    ...Object.fromEntries(shared.map(([name, one]) => [capacityClass(name), inventory(stepsOf(one, one.amount))])),
  };
}

/** An amount of a capacity in whole steps. */
export function stepsOf({ step }: DeviceCapacity, amount: number): number {
  return Math.ceil(amount / step);
}

/** `model`, or with a domain in front `gpu.example.com/model`: the names of attributes, capacities and taints. */
export function isQualifiedName(text: string): boolean {
  return QUALIFIED_NAME.test(text);
}

/** The rule of `isQualifiedName`: at most 96 characters. */
export const QUALIFIED_NAME_PATTERN = '^([a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?/)?[A-Za-z_][A-Za-z0-9_-]{0,31}$';
const QUALIFIED_NAME = new RegExp(QUALIFIED_NAME_PATTERN);
