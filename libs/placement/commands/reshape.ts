import type { Inventories, Resources } from '../../domain/inventory';
import type { ConsumerWrite, RefusedCommit, Reshape } from '../port/placement-store';
import { checkedWrites } from './allocation-command';
import { decideAllocations } from './allocations';
import { isCustom, refuseUnknown } from './catalogue';
import { failedGuard, type GuardedRows, meaningOf } from './claims/check-guards';
import { countersFor } from './claims/group-counters';
import { withAmounts } from './claims/use-over-time';
import type { ClaimTables, ClaimView, Seen } from './claims/view';
import { putInventories, refuseGeneration } from './provider-attributes';
import { projectKey, type Stored, type TableName, type Tables } from './tables';
import type { Decided, Proposal, Timed, Transaction } from './transaction';

/** Inventories and allocations in one step. Whether a removed class is in use is checked on the result. */
export async function reshape(tx: Transaction, command: Timed<Reshape>): Decided {
  const { atMs } = command;
  const consumers = checkedWrites(command.consumers);
  const next = new Map<string, Inventories>();
  for (const { providerUuid, generation, inventories } of command.inventories) {
    if (!(await tx.get('provider', providerUuid))) return { kind: 'not_found', subject: 'provider', key: providerUuid };
    const refusal =
      (await refuseGeneration(tx, providerUuid, generation)) ??
      (await refuseUnknown(tx, 'resource_class', Object.keys(inventories)));
    if (refusal) return refusal;
    next.set(providerUuid, inventories);
  }
  const rows = await readRows(tx, consumers, next);
  const proposal = decideAllocations(rows, consumers, { atMs, force: false, withinQuota: false });
  const failed = failedGuard(proposal.guards, rows);
  const refused = failed
    ? meaningOf(failed, failed.kind === 'amount' ? rows.get('usage', failed.key) : undefined)
    : proposal.refusal;
  if (refused && refused.kind !== 'unchanged') return refused as RefusedCommit;
  if (refused && next.size === 0) return { kind: 'unchanged' };
  for (const [uuid, inventories] of next) {
    const provider = rows.provider(uuid);
    const inUse = Object.keys(usedAfter(uuid, rows, proposal)).find((resourceClass) => !inventories[resourceClass]);
    if (inUse !== undefined) return { kind: 'in_use', subject: 'inventory', key: inUse, by: 'allocations' };
    if (!provider) continue;
    putInventories(tx, provider, inventories, atMs);
    for (let step = 0; step < stepsTo(inventories); step++) tx.write({ kind: 'raise', key: uuid });
  }
  tx.write(...proposal.writes);
  return undefined;
}

function usedAfter(uuid: string, rows: ClaimView, { writes }: Proposal): Resources {
  const moves = writes.flatMap((write) => (write.kind === 'add' && write.key === uuid ? write.amounts : []));
  return withAmounts(rows.get('usage', uuid)?.row.used ?? {}, moves);
}

/**
 * Placement writes inventories twice, with the allocations between, and raises the generation each time; clients and their
 * tests rely on it. The first time it removes none, and so skips a provider that is to have none.
 */
function stepsTo(inventories: Inventories): number {
  return Object.keys(inventories).length === 0 ? 1 : 2;
}

/** The rows that the decision may look at, read, and so guarded, beforehand. It moves what is held: no quota binds it. */
async function readRows(
  tx: Transaction,
  writes: readonly ConsumerWrite[],
  next: ReadonlyMap<string, Inventories>,
): Promise<ReadRows> {
  const consumers = await readAll(tx, 'consumer', unique(writes.map((write) => write.uuid)));
  const olds = [...consumers.values()].map(({ row }) => row);
  const held = olds.flatMap(({ allocations }) => Object.keys(allocations));
  const taken = writes.flatMap((write) => Object.keys(write.allocations));
  const uuids = unique([...next.keys(), ...held, ...taken]);
  const classes = unique(writes.flatMap((write) => Object.values(write.allocations).flatMap(Object.keys)));
  const projects = unique([...writes, ...olds].map(({ projectId }) => projectKey(projectId)));
  const tables = {
    consumer: consumers,
    provider: await readAll(tx, 'provider', uuids),
    usage: await readAll(tx, 'usage', uuids),
    resource_class: await readAll(tx, 'resource_class', classes.filter(isCustom)),
    project_usage: await readAll(tx, 'project_usage', projects),
  };
  const counts = new Map<string, number>();
  for (const name of unique(writes.flatMap(countersFor))) counts.set(name, await tx.count(name));
  return new ReadRows(tables, counts, next);
}

/** Rows as they were read. Of providers, a class that is removed is still there for the allocations; then it is found in use. */
class ReadRows implements ClaimView, GuardedRows {
  constructor(
    private readonly tables: { readonly [T in TableName]?: ReadonlyMap<string, Stored<Tables[T]>> },
    private readonly counts: ReadonlyMap<string, number>,
    private readonly next: ReadonlyMap<string, Inventories>,
  ) {}

  provider(uuid: string): Tables['provider'] | undefined {
    return this.tables.provider?.get(uuid)?.row;
  }

  get<T extends keyof ClaimTables>(table: T, key: string): Seen<ClaimTables[T]> | undefined {
    const stored = this.tables[table]?.get(key) as Seen<ClaimTables[T]> | undefined;
    if (table !== 'provider' || !stored) return stored;
    const { inventories } = stored.row as ClaimTables['provider'];
    return { ...stored, row: { ...stored.row, inventories: { ...inventories, ...this.next.get(key) } } };
  }

  count(name: string): number {
    return this.counts.get(name) ?? 0;
  }

  isSame(): boolean {
    return true;
  }

  amount({ key, name }: { readonly key: string; readonly name: string }): number {
    return this.get('usage', key)?.row.used[name] ?? 0;
  }

  heardAt(): undefined {
    return undefined;
  }
}

async function readAll<T extends TableName>(
  tx: Transaction,
  table: T,
  keys: readonly string[],
): Promise<Map<string, Stored<Tables[T]>>> {
  const rows = await tx.getStored(table, keys);
  const found = new Map<string, Stored<Tables[T]>>();
  for (const [i, key] of keys.entries()) {
    const stored = rows[i];
    if (stored) found.set(key, stored);
  }
  return found;
}

function unique(keys: readonly string[]): string[] {
  return [...new Set(keys)];
}
