import { counters, type Refusal } from './tables';
import type { Transaction } from './transaction';

type Catalogue = 'resource_class' | 'trait';

/** Names that must be in the catalogue; the standard ones need not. */
export function isCustom(name: string): boolean {
  return name.startsWith('CUSTOM_');
}

/** Refuses custom names that the catalogue does not have. */
export async function refuseUnknown(
  tx: Transaction,
  catalogue: Catalogue,
  names: readonly string[],
): Promise<Refusal | undefined> {
  const unknown = (await missingNames(tx, catalogue, names))[0];
  return unknown === undefined ? undefined : { kind: 'not_found', subject: catalogue, key: unknown };
}

/** Puts custom names into the catalogue that it does not have. */
export async function createMissing(
  tx: Transaction,
  catalogue: Catalogue,
  names: readonly string[],
  atMs: number,
): Promise<void> {
  for (const name of await missingNames(tx, catalogue, names)) tx.put(catalogue, name, { createdAtMs: atMs });
}

async function missingNames(tx: Transaction, catalogue: Catalogue, names: readonly string[]): Promise<string[]> {
  const custom = names.filter(isCustom);
  const rows = await tx.getAll(catalogue, custom);
  return custom.filter((_, i) => rows[i] === undefined);
}

/** Counts who uses which custom names, so that a name in use can't be deleted. */
export function countUsers(
  tx: Transaction,
  catalogue: Catalogue,
  before: readonly string[],
  after: readonly string[],
): void {
  const had = new Set(before.filter(isCustom));
  const has = new Set(after.filter(isCustom));
  for (const name of has)
    if (!had.has(name)) tx.write({ kind: 'count', name: counters.usersOf(catalogue, name), by: 1 });
  for (const name of had)
    if (!has.has(name)) tx.write({ kind: 'count', name: counters.usersOf(catalogue, name), by: -1 });
}
