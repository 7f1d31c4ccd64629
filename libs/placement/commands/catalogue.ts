import type { Inventories, Resources } from '../../domain/inventory';
import type { CatalogueCommand, RefusedCommit } from '../port/placement-store';
import { withClassRenamed } from './claims/use-over-time';
import { counters } from './tables';
import type { Decided, Timed, Transaction } from './transaction';

/** Custom resource classes and traits, together, that the reports of one agent bring into the catalogue. */
export const MAX_NAMES_BY_AGENT = 2_048;

type Catalogue = 'resource_class' | 'trait';

type OneName = Extract<CatalogueCommand, { kind: 'create_name' | 'delete_name' }>;

/** Creates a custom class or trait. */
export async function createName(tx: Transaction, { catalogue, name, atMs }: Timed<OneName>): Decided {
  if (await tx.get(catalogue, name)) return { kind: 'exists', subject: catalogue, key: name };
  tx.put(catalogue, name, { createdAtMs: atMs });
  return undefined;
}

/** Deletes one that nothing uses. */
export async function deleteName(tx: Transaction, { catalogue, name }: OneName): Decided {
  const row = await tx.get(catalogue, name);
  if (!row) return { kind: 'not_found', subject: catalogue, key: name };
  if ((await tx.count(counters.usersOf(catalogue, name))) > 0) {
    const by = catalogue === 'trait' ? 'providers' : 'inventories';
    return { kind: 'in_use', subject: catalogue, key: name, by };
  }
  tx.write({ kind: 'delete', table: catalogue, key: name });
  if (row.by !== undefined) tx.write({ kind: 'count', name: counters.namesBy(row.by), by: -1 });
  return undefined;
}

/** Rewrites every row that names the class: slow, and rarely used (Placement dropped it in microversion 1.7). */
export async function renameClass(
  tx: Transaction,
  { name, newName }: Extract<CatalogueCommand, { kind: 'rename_class' }>,
): Decided {
  const [row, taken] = await tx.getAll('resource_class', [name, newName]);
  if (!row) return { kind: 'not_found', subject: 'resource_class', key: name };
  // Standard classes always exist, but not in the catalogue.
  if (taken || !isCustom(newName)) return { kind: 'exists', subject: 'resource_class', key: newName };
  tx.write({ kind: 'delete', table: 'resource_class', key: name });
  tx.put('resource_class', newName, row);
  const users = await tx.count(counters.usersOf('resource_class', name));
  tx.write({ kind: 'count', name: counters.usersOf('resource_class', name), by: -users });
  tx.write({ kind: 'count', name: counters.usersOf('resource_class', newName), by: users });
  if (users === 0) return undefined;
  const providers = (await tx.scan('provider')).filter(([, provider]) => provider.inventories[name]);
  const uuids = providers.map(([uuid]) => uuid);
  // Read again, one by one, so that each is guarded.
  const [guarded, usages] = await Promise.all([tx.getAll('provider', uuids), tx.getAll('usage', uuids)]);
  for (const [i, provider] of guarded.entries()) {
    const usage = usages[i];
    if (!provider || !usage) continue;
    tx.put('provider', provider.uuid, {
      ...provider,
      inventories: renamed<Inventories>(provider.inventories, name, newName),
    });
    tx.put('usage', provider.uuid, { ...usage, used: renamed<Resources>(usage.used, name, newName) });
  }
  await renameInConsumers(tx, name, newName);
  await renameInProjects(tx, name, newName);
  return undefined;
}

async function renameInConsumers(tx: Transaction, name: string, newName: string): Promise<void> {
  const holders = (await tx.scan('consumer')).filter(([, consumer]) =>
    Object.values(consumer.allocations).some((resources) => resources[name] !== undefined),
  );
  for (const consumer of await tx.getAll(
    'consumer',
    holders.map(([uuid]) => uuid),
  )) {
    if (!consumer) continue;
    const allocations = Object.fromEntries(
      Object.entries(consumer.allocations).map(([uuid, resources]) => [uuid, renamed(resources, name, newName)]),
    );
    tx.put('consumer', consumer.uuid, { ...consumer, allocations });
  }
}

/** Renames the class in projects' usage; limits and the history keep the old name. */
async function renameInProjects(tx: Transaction, name: string, newName: string): Promise<void> {
  const holders = (await tx.scan('project_usage')).filter(([, { amounts }]) => amounts[name] !== undefined);
  const keys = holders.map(([key]) => key);
  for (const [i, row] of (await tx.getAll('project_usage', keys)).entries()) {
    if (row)
      tx.put('project_usage', keys[i] as string, { ...row, amounts: withClassRenamed(row.amounts, name, newName) });
  }
}

function renamed<R extends Readonly<Record<string, unknown>>>(record: R, name: string, newName: string): R {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key === name ? newName : key, value])) as R;
}

/** True if a name must be in the catalogue; standard names need not. */
export function isCustom(name: string): boolean {
  return name.startsWith('CUSTOM_');
}

/** Refuses custom names that the catalogue does not have. */
export async function refuseUnknown(tx: Transaction, catalogue: Catalogue, names: readonly string[]): Decided {
  const unknown = (await missingNames(tx, catalogue, names))[0];
  return unknown === undefined ? undefined : { kind: 'not_found', subject: catalogue, key: unknown };
}

/**
 * Adds those custom names to the catalogue that it does not have, unless their agent has brought its share already: nobody takes a
 * name away but an operator, and a report may have other names each time.
 */
export async function createMissing(
  tx: Transaction,
  names: Readonly<Record<Catalogue, readonly string[]>>,
  { atMs, by }: { readonly atMs: number; readonly by: string },
): Promise<Extract<RefusedCommit, { kind: 'full' }> | undefined> {
  const catalogues = ['resource_class', 'trait'] as const;
  const missing = await Promise.all(catalogues.map((catalogue) => missingNames(tx, catalogue, names[catalogue])));
  const count = missing.flat().length;
  if (count === 0) return undefined;
  // Not guarded: a few names more by reports at the same moment are better than reports that hold up one another.
  if ((await tx.readCount(counters.namesBy(by))) + count > MAX_NAMES_BY_AGENT) {
    return { kind: 'full', subject: missing[0]?.length ? 'resource_class' : 'trait', most: MAX_NAMES_BY_AGENT };
  }
  for (const [n, catalogue] of catalogues.entries())
    for (const name of missing[n] ?? []) tx.put(catalogue, name, { createdAtMs: atMs, by });
  tx.write({ kind: 'count', name: counters.namesBy(by), by: count });
  return undefined;
}

async function missingNames(tx: Transaction, catalogue: Catalogue, names: readonly string[]): Promise<string[]> {
  const custom = names.filter(isCustom);
  const rows = await tx.getAll(catalogue, custom);
  return custom.filter((_, i) => rows[i] === undefined);
}

/** Keeps count of a provider's uses of custom names, so that a name in use can't be deleted. */
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
