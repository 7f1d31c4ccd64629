import { BerthError } from '#libs/domain/errors';
import type { Resources } from '#libs/domain/inventory';
import { isClassOrTraitName, isUuid } from '#libs/domain/names';
import { isNodeClass } from '#libs/domain/nodes/node';
import { classOf } from '../sources/file-source';

/** A node as Ironic shows it, as far as Berth needs it. */
export interface IronicNode {
  readonly uuid: string;
  /** `CUSTOM_BAREMETAL_<CLASS>`; '' without one. */
  readonly resourceClass: string;
  readonly traits: readonly string[];
  readonly resources: Resources;
  readonly isInMaintenance: boolean;
  readonly maintenanceReason: string;
  /** Ironic's word: `wait call-back`. */
  readonly provisionState: string;
  /** Undefined while Ironic shows none, or an error. */
  readonly isOn: boolean | undefined;
  readonly isSwitching: boolean;
  /** '' for none. */
  readonly instanceUuid: string;
  readonly isProtected: boolean;
  readonly lastError: string;
}

/** The fields that make up an `IronicNode`, for `?fields=`. */
export const NODE_FIELDS =
  'uuid,resource_class,traits,properties,maintenance,maintenance_reason,provision_state,power_state,target_power_state,instance_uuid,protected,last_error';

const MOST_TEXT = 400;

/** @throws BerthError `unavailable / controller_away`: the answer is not a node's. */
export function readNode(body: unknown): IronicNode {
  const row = (body ?? {}) as Readonly<Record<string, unknown>>;
  const { uuid, traits, properties, provision_state: provisionState, power_state: power } = row;
  if (typeof uuid !== 'string' || !isUuid(uuid) || typeof provisionState !== 'string') {
    const message = `Ironic shows a node without uuid and provision_state: ${JSON.stringify(body)?.slice(0, 200)}`;
    throw new BerthError('unavailable', 'controller_away', message);
  }
  const named = Array.isArray(traits) ? traits.filter((one): one is string => typeof one === 'string') : [];
  return {
    uuid,
    resourceClass: nodeClassOf(textOf(row['resource_class'])),
    traits: named.filter(isClassOrTraitName),
    resources: resourcesOf(properties),
    isInMaintenance: row['maintenance'] === true,
    maintenanceReason: textOf(row['maintenance_reason']),
    provisionState,
    isOn: power === 'power on' ? true : power === 'power off' ? false : undefined,
    isSwitching: textOf(row['target_power_state']) !== '',
    instanceUuid: textOf(row['instance_uuid']),
    isProtected: row['protected'] === true,
    lastError: textOf(row['last_error']),
  };
}

/**
 * The class of a node, by Nova's rule for Ironic's `resource_class` (upper case, `_` for what a class can't have):
 * `baremetal.gold` is CUSTOM_BAREMETAL_GOLD to both. What Nova calls CUSTOM_GOLD is CUSTOM_BAREMETAL_GOLD here, because
 * that prefix marks providers that one consumer has as a whole. '' for none.
 */
export function nodeClassOf(resourceClass: string): string {
  const name = resourceClass.toUpperCase().replace(/[^A-Z0-9_]/g, '_');
  const custom = `CUSTOM_${name.replace(/^CUSTOM_/, '')}`;
  const node = isNodeClass(custom) ? custom : classOf(custom.slice('CUSTOM_'.length));
  return name !== '' && isNodeClass(node) ? node : '';
}

/** Inspection's `cpus`, `memory_mb` and `local_gb`. */
function resourcesOf(properties: unknown): Resources {
  const { cpus, memory_mb: memoryMb, local_gb: diskGb } = (properties ?? {}) as Readonly<Record<string, unknown>>;
  const amounts = { VCPU: wholeOf(cpus), MEMORY_MB: wholeOf(memoryMb), DISK_GB: wholeOf(diskGb) };
  return Object.fromEntries(Object.entries(amounts).filter(([, amount]) => amount > 0));
}

/** Ironic keeps them as it got them, often as text. */
function wholeOf(value: unknown): number {
  const amount = typeof value === 'string' ? Number(value) : value;
  return typeof amount === 'number' && Number.isSafeInteger(amount) ? amount : 0;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, MOST_TEXT) : '';
}
