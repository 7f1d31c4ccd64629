import {
  type Device,
  type DeviceAttribute,
  type DeviceCapacity,
  deviceInventories,
  isQualifiedName,
} from '#libs/domain/devices/device';
import { parseQuantity } from '#libs/domain/devices/quantity';
import { parseEffect } from '#libs/domain/devices/taints';
import { parseVersion } from '#libs/domain/devices/version';
import { MAX_AMOUNT } from '#libs/domain/inventory';
import { isClassOrTraitName } from '#libs/domain/names';
import { isResourceClass } from '#libs/domain/naming/known-names';
import type { NestedCapacity } from './driver';
import { badShape, entriesOf } from './host-shape';
import { checkTree, placeIn } from './nested-shape';

/**
 * `gpu0 model=H100 driver=v535.1.0 numa=0 capacity:memory=80Gi; card/part0 consumes:CUSTOM_SLICE=2 | ...`: devices below a
 * host's root, a name with its parent's in front, if it has one, then words. Several hosts as in `host-shape.ts`.
 *
 * | word | is |
 * |---|---|
 * | `NAME=VALUE` | an attribute: a bool, an int, a version (`v1.2.3`) or a string; in quotes always a string |
 * | `capacity:NAME=80Gi/1Gi` | an amount, and the step in which it is shared out |
 * | `class:CUSTOM_GPU` | its kind: the resource class that requests name and quotas limit |
 * | `consumers:4` | how many instances may have it at once |
 * | `taint:KEY=VALUE` | a taint; with `:NoExecute` behind it who has the device is moved away, too |
 * | `consumes:CLASS=N` | what it takes of its parent's inventory |
 *
 * @throws BerthError `invalid_argument / bad_config` with the setting's name.
 */
export function parseDevices(setting: string, text: string): NestedCapacity[][] {
  return entriesOf(text).map((entry) =>
    entry
      .split(';')
      .map((one) => one.trim())
      .filter((one) => one !== '')
      .map((one) => parseDevice(setting, one)),
  );
}

/** The providers and the devices of a host. @throws BerthError as `parseDevices`, when they make no tree, or a counter is not there. */
export function withDevices(
  setting: string,
  providers: readonly NestedCapacity[],
  devices: readonly NestedCapacity[],
): readonly NestedCapacity[] {
  if (devices.length === 0) return providers;
  const all = [...providers, ...devices];
  checkTree(setting, all);
  for (const { parent, device } of devices) {
    const above = all.find(({ name }) => name === parent)?.inventories;
    const counter = Object.keys(device?.consumes ?? {}).find((name) => above !== undefined && !above[name]);
    if (counter !== undefined) throw badShape(setting, counter, `an inventory of its parent, ${parent}`);
  }
  return all;
}

function parseDevice(setting: string, text: string): NestedCapacity {
  const [path = '', ...words] = text.match(/(?:[^\s"]|"[^"]*")+/g) ?? [];
  const parts: Parts = { attributes: {}, capacity: {}, taints: {}, consumes: {}, consumers: 1 };
  for (const word of words) readWord(setting, word, parts);
  const device: Device = parts;
  return { ...placeIn(setting, path), inventories: deviceInventories(device), traits: [], device };
}

interface Parts {
  readonly attributes: Record<string, DeviceAttribute>;
  readonly capacity: Record<string, DeviceCapacity>;
  readonly taints: Record<string, string>;
  readonly consumes: Record<string, number>;
  consumers: number;
  resourceClass?: string;
  evicts?: Record<string, number>;
}

function readWord(setting: string, word: string, parts: Parts): void {
  const [, kind = '', said = ''] = /^(?:(capacity|taint|consumes|consumers|class):)?(.*)$/.exec(word) ?? [];
  const at = said.indexOf('=');
  const [name, value] = [said.slice(0, at), said.slice(at + 1)];
  if (kind === 'consumers') {
    const count = Number(said);
    if (!/^[1-9]\d*$/.test(said) || count > MAX_AMOUNT) throw badShape(setting, word, 'consumers:N');
    parts.consumers = count;
    return;
  }
  if (kind === 'class') {
    if (!isResourceClass(said)) throw badShape(setting, word, 'class:CUSTOM_NAME, a resource class');
    parts.resourceClass = said;
    return;
  }
  if (at < 1) throw badShape(setting, word, 'NAME=VALUE');
  if (kind === 'consumes') {
    if (!isClassOrTraitName(name) || !/^[1-9]\d{0,9}$/.test(value)) throw badShape(setting, word, 'consumes:CLASS=N');
    parts.consumes[name] = Number(value);
    return;
  }
  if (!isQualifiedName(name)) throw badShape(setting, word, 'named by letters, digits, _ and -, or domain/name');
  if (kind === 'capacity') parts.capacity[name] = capacityOf(setting, word, value);
  else if (kind === 'taint') addTaint(parts, name, value);
  else parts.attributes[name] = attributeOf(value);
}

function addTaint(parts: Parts, key: string, said: string): void {
  const { value, noExecute } = parseEffect(said);
  parts.taints[key] = unquoted(value);
  if (noExecute) parts.evicts = { ...parts.evicts, [key]: 0 };
}

function capacityOf(setting: string, word: string, value: string): DeviceCapacity {
  const [amount, step] = value.split('/').map(parseQuantity);
  const isStepped = value.includes('/');
  if (amount === undefined || (isStepped && !step)) throw badShape(setting, word, 'capacity:NAME=80Gi or =80Gi/1Gi');
  return { amount, step: step ?? 1 };
}

function attributeOf(value: string): DeviceAttribute {
  if (value === 'true' || value === 'false') return { kind: 'bool', value: value === 'true' };
  if (/^-?\d{1,15}$/.test(value)) return { kind: 'int', value: Number(value) };
  if (value.startsWith('v') && parseVersion(value.slice(1))) return { kind: 'version', value: value.slice(1) };
  return { kind: 'string', value: unquoted(value) };
}

function unquoted(value: string): string {
  return value.replaceAll('"', '');
}
