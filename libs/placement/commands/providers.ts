import type { DeleteHost, DeleteProvider, PutProvider } from '../port/placement-store';
import { countUsers } from './catalogue';
import type { Tables } from './tables';
import type { Decided, Timed, Transaction } from './transaction';

type Row = Tables['provider'];

/** Creates a provider, or changes its name or parent. */
export function putProvider(tx: Transaction, command: Timed<PutProvider>): Decided {
  return command.mode === 'create' ? create(tx, command) : update(tx, command);
}

async function create(tx: Transaction, command: Timed<PutProvider>): Decided {
  const { uuid, name, parentUuid, atMs } = command;
  const parent = parentUuid === undefined ? undefined : await tx.get('provider', parentUuid);
  if (parentUuid !== undefined && !parent) return { kind: 'not_found', subject: 'parent', key: parentUuid };
  if (await tx.get('provider', uuid)) return { kind: 'exists', subject: 'provider', key: uuid };
  if (await tx.get('name', name)) return { kind: 'exists', subject: 'provider', key: name };
  const rootUuid = parent?.rootUuid ?? uuid;
  const empty = { inventories: {}, traits: [], aggregates: [], host: undefined };
  tx.put('provider', uuid, { uuid, name, parentUuid, rootUuid, ...empty, createdAtMs: atMs, updatedAtMs: atMs });
  tx.put('usage', uuid, { generation: 0, used: {} });
  tx.put('name', name, { uuid });
  if (parent) putTree(tx, rootUuid, [...(await membersOf(tx, rootUuid)), uuid]);
  return undefined;
}

async function update(tx: Transaction, command: Timed<PutProvider>): Decided {
  const { uuid, name, parentUuid, atMs } = command;
  const provider = await tx.get('provider', uuid);
  if (!provider) return { kind: 'not_found', subject: 'provider', key: uuid };
  const next = { ...provider, name, updatedAtMs: atMs };
  if (parentUuid === provider.parentUuid) write(tx, next);
  else {
    const refusal = await move(tx, next, parentUuid);
    if (refusal) return refusal;
  }
  if (name === provider.name) return undefined;
  if (await tx.get('name', name)) return { kind: 'exists', subject: 'provider', key: name };
  tx.write({ kind: 'delete', table: 'name', key: provider.name });
  tx.put('name', name, { uuid });
  return undefined;
}

/** Moves a provider and all below it to another parent, or makes it a root. */
async function move(tx: Transaction, provider: Row, parentUuid: string | undefined): Decided {
  const parent = parentUuid === undefined ? undefined : await tx.get('provider', parentUuid);
  if (parentUuid !== undefined && !parent) return { kind: 'not_found', subject: 'parent', key: parentUuid };
  const tree = await treeOf(tx, provider.rootUuid);
  const moved = subtree(tree, provider.uuid);
  if (parentUuid !== undefined && moved.has(parentUuid)) {
    return { kind: 'in_use', subject: 'parent', key: parentUuid, by: 'children' };
  }
  const rootUuid = parent?.rootUuid ?? provider.uuid;
  write(tx, { ...provider, parentUuid, rootUuid });
  if (rootUuid === provider.rootUuid) return undefined;
  for (const row of tree) {
    if (moved.has(row.uuid) && row.uuid !== provider.uuid) write(tx, { ...row, rootUuid });
  }
  const rest = tree.map((row) => row.uuid).filter((uuid) => !moved.has(uuid));
  putTree(tx, provider.rootUuid, rest);
  putTree(tx, rootUuid, [...(parent ? await membersOf(tx, rootUuid) : []), ...moved]);
  return undefined;
}

/** Deletes a provider without allocations and children; with a host's root, the host too. */
export async function deleteProvider(tx: Transaction, { uuid }: DeleteProvider): Decided {
  const [provider, usage] = await Promise.all([tx.get('provider', uuid), tx.get('usage', uuid)]);
  if (!provider) return { kind: 'not_found', subject: 'provider', key: uuid };
  const tree = await treeOf(tx, provider.rootUuid);
  if (tree.some((row) => row.parentUuid === uuid)) {
    return { kind: 'in_use', subject: 'provider', key: uuid, by: 'children' };
  }
  if (Object.keys(usage?.used ?? {}).length > 0) {
    return { kind: 'in_use', subject: 'provider', key: uuid, by: 'allocations' };
  }
  removeProvider(tx, provider);
  if (tree.length > 1) {
    putTree(
      tx,
      provider.rootUuid,
      tree.map((row) => row.uuid).filter((member) => member !== uuid),
    );
  }
  if (provider.host !== undefined) deleteHost(tx, provider.host);
  return undefined;
}

/** Deletes a host with all providers of its tree. The one that is in use is named. */
export async function deleteHostTree(tx: Transaction, { host: name }: DeleteHost): Decided {
  const host = await tx.get('host', name);
  if (!host) return { kind: 'not_found', subject: 'host', key: name };
  const tree = await treeOf(tx, host.providerUuid);
  const usages = await tx.getAll(
    'usage',
    tree.map(({ uuid }) => uuid),
  );
  const inUse = tree.find((_, n) => Object.keys(usages[n]?.used ?? {}).length > 0);
  if (inUse) return { kind: 'in_use', subject: 'provider', key: inUse.name, by: 'allocations', uuid: inUse.uuid };
  for (const provider of tree) removeProvider(tx, provider);
  tx.write({ kind: 'delete', table: 'tree', key: host.providerUuid });
  deleteHost(tx, name);
  return undefined;
}

/** Deletes the rows of a provider that has neither allocations nor children. Whose tree it leaves, is the caller's to write. */
export function removeProvider(tx: Transaction, { uuid, name, inventories, traits }: Row): void {
  countUsers(tx, 'resource_class', Object.keys(inventories), []);
  countUsers(tx, 'trait', traits, []);
  for (const table of ['provider', 'usage'] as const) tx.write({ kind: 'delete', table, key: uuid });
  tx.write({ kind: 'delete', table: 'name', key: name });
}

function deleteHost(tx: Transaction, host: string): void {
  for (const table of ['host', 'sequence', 'holder'] as const) tx.write({ kind: 'delete', table, key: host });
  tx.write({ kind: 'mute', host });
}

/** Writes a provider whose generation stays as it is. */
function write(tx: Transaction, row: Row): void {
  tx.put('provider', row.uuid, row);
  tx.write({ kind: 'show', key: row.uuid });
}

async function membersOf(tx: Transaction, rootUuid: string): Promise<readonly string[]> {
  return (await tx.get('tree', rootUuid))?.members ?? [rootUuid];
}

async function treeOf(tx: Transaction, rootUuid: string): Promise<Row[]> {
  const rows = await tx.getAll('provider', await membersOf(tx, rootUuid));
  return rows.filter((row) => row !== undefined);
}

/** Writes which providers are in a tree. */
export function putTree(tx: Transaction, rootUuid: string, members: readonly string[]): void {
  if (members.length > 1) tx.put('tree', rootUuid, { members });
  else tx.write({ kind: 'delete', table: 'tree', key: rootUuid });
}

function subtree(tree: readonly Row[], uuid: string): Set<string> {
  const found = new Set([uuid]);
  // Members are in no order: repeat until a round finds none.
  for (let before = 0; before < found.size; ) {
    before = found.size;
    for (const row of tree) if (row.parentUuid !== undefined && found.has(row.parentUuid)) found.add(row.uuid);
  }
  return found;
}
