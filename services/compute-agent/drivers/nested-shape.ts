import type { Inventories } from '#libs/domain/inventory';
import { isClassOrTraitName } from '#libs/domain/names';
import { isNestedProviderName, unorderable } from '#libs/placement/port/nested-provider';
import type { NestedCapacity } from './driver';
import { badShape, entriesOf, parseInventory, wordsOf } from './host-shape';

/** The setting for the providers of the machine itself. */
export const MACHINE = 'machine';

/**
 * `numa0 VCPU=16,MEMORY_MB=65536,HW_NUMA_ROOT; numa0/gpu0 VGPU=8 | ...`: the providers below a host's root, a name with
 * its parent's in front, if it has one; then inventories as in BERTH_AGENT_INVENTORY, and traits. Several hosts as in
 * `host-shape.ts`.
 *
 * @throws BerthError `invalid_argument / bad_config` with the setting's name.
 */
export function parseNested(setting: string, text: string): NestedCapacity[][] {
  return entriesOf(text).map((entry) => {
    const providers = entry
      .split(';')
      .map((one) => one.trim())
      .filter((one) => one !== '')
      .map((one) => parseProvider(setting, one));
    checkTree(setting, providers);
    return providers;
  });
}

/** @throws BerthError `invalid_argument / bad_config` for a name twice, or a provider below none of the host. */
export function checkTree(setting: string, providers: readonly NestedCapacity[]): void {
  const names = providers.map(({ name }) => name);
  const twice = names.find((name, n) => names.indexOf(name) !== n);
  if (twice !== undefined) throw badShape(setting, twice, 'a name that no other provider of the host has');
  const lost = unorderable(providers)[0];
  if (lost === undefined) return;
  throw badShape(setting, lost.name, 'below the root: its parent must be another one of the host');
}

/** Reads `name` or `parent/name`. @throws BerthError `invalid_argument / bad_config`. */
export function placeIn(setting: string, path: string): Pick<NestedCapacity, 'name' | 'parent'> {
  const [name = '', parent = '', ...more] = path.split('/').toReversed();
  if (more.length > 0 || !isNestedProviderName(name) || (path.includes('/') && !isNestedProviderName(parent))) {
    throw badShape(setting, path, 'name or parent/name, of letters, digits and . _ : -, up to 64');
  }
  return { name, parent };
}

function parseProvider(setting: string, text: string): NestedCapacity {
  const [path = '', ...rest] = text.split(/\s+/);
  const place = placeIn(setting, path);
  const words = wordsOf(rest.join(''));
  const inventories: Inventories = Object.fromEntries(
    words.filter((word) => word.includes('=')).map((word) => parseInventory(setting, word)),
  );
  const traits = words.filter((word) => !word.includes('='));
  const bad = traits.find((trait) => !isClassOrTraitName(trait));
  if (bad !== undefined) throw badShape(setting, bad, 'CLASS=total or a trait');
  return { ...place, inventories, traits };
}
