import { failedGuard, type GuardedRows, meaningOf } from '../commands/claims/check-guards';
import { laterOf, withAmounts } from '../commands/claims/use-over-time';
import type { ClaimView } from '../commands/claims/view';
import { addRow, type RowLists, type Stored, type TableName, type Tables } from '../commands/tables';
import type { Conflict, Guard, Proposal, Reader, Write } from '../commands/transaction';
import type { RefusedCommit, Rows, StoreImage } from '../port/placement-store';
import { renewHolder } from './holders';
import { UsageRecords } from './usage-records';

type Maps = { readonly [T in TableName]: Map<string, Stored<Tables[T]>> };

/** Tables that mirrors see, usages before providers. */
const MIRRORED = [
  'usage',
  'provider',
  'aggregate',
  'host',
  'server_group',
  'consumer',
  'resource_class',
  'trait',
  'quota',
  'lease',
  'guarantee',
  'reservation',
  'admission_turn',
] as const;

/** All rows in maps. Each write, and the check of guards before it, is synchronous and so atomic. */
export class MemoryTables implements Reader, ClaimView, GuardedRows {
  readonly maps: Maps = {
    provider: new Map(),
    usage: new Map(),
    host: new Map(),
    consumer: new Map(),
    resource_class: new Map(),
    trait: new Map(),
    aggregate: new Map(),
    server_group: new Map(),
    name: new Map(),
    tree: new Map(),
    sequence: new Map(),
    holder: new Map(),
    quota: new Map(),
    cohort: new Map(),
    project_usage: new Map(),
    project_days: new Map(),
    usage_parts: new Map(),
    recent_use: new Map(),
    lease: new Map(),
    nomination: new Map(),
    guarantee: new Map(),
    reservation: new Map(),
    admission_turn: new Map(),
  };
  readonly #counts = new Map<string, number>();
  readonly #heartbeats = new Map<string, number>();
  readonly #records = new UsageRecords();

  get<T extends TableName>(table: T, key: string): Stored<Tables[T]> | undefined {
    return this.maps[table].get(key);
  }

  async rows<T extends TableName>(table: T, keys: readonly string[]): Promise<(Stored<Tables[T]> | undefined)[]> {
    return keys.map((key) => this.get(table, key));
  }

  async scan<T extends TableName>(table: T): Promise<[string, Stored<Tables[T]>][]> {
    return [...this.maps[table]];
  }

  async records(key: string, most: number): Promise<string[]> {
    return this.#records.of(key, most);
  }

  async recordCount(key: string): Promise<number> {
    return this.#records.countOf(key);
  }

  count(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  async counts(names: readonly string[]): Promise<number[]> {
    return names.map((name) => this.count(name));
  }

  heardAt(host: string): number | undefined {
    return this.#heartbeats.get(host);
  }

  async silentHosts(silentSinceMs: number, limit: number): Promise<string[]> {
    return [...this.#heartbeats]
      .filter(([, atMs]) => atMs <= silentSinceMs)
      .sort(([hostA, a], [hostB, b]) => a - b || (hostA < hostB ? -1 : 1))
      .slice(0, limit)
      .map(([host]) => host);
  }

  /** Why nothing of a proposal may be written; undefined when all may. */
  refusalOf({ guards, refusal }: Proposal): RefusedCommit | Conflict | undefined {
    const failed = failedGuard(guards, this);
    if (failed === undefined) return refusal;
    return meaningOf(failed, failed.kind === 'amount' ? this.get('usage', failed.key) : undefined);
  }

  isSame({ table, key, stored }: Extract<Guard, { kind: 'row' }>): boolean {
    const present = this.get(table, key);
    // Sequences are written without a revision.
    return table === 'sequence' ? present === stored : present?.revision === stored?.revision;
  }

  amount({ table, key, name }: Extract<Guard, { kind: 'amount' }>): number {
    const amounts = table === 'usage' ? this.get(table, key)?.row.used : this.get(table, key)?.row.amounts;
    return amounts?.[name] ?? 0;
  }

  /** All rows that mirrors see. */
  all(): Rows {
    const rows: RowLists = {};
    for (const table of MIRRORED) {
      for (const key of this.maps[table].keys()) this.#addRow(rows, table, key);
    }
    return rows;
  }

  /** Everything, for `load`. */
  image(): Pick<StoreImage, 'tables' | 'counts' | 'heartbeats'> {
    const rowsOf = (rows: ReadonlyMap<string, Stored<unknown>>) =>
      Array.from(rows, ([key, { revision, row }]) => [key, revision, row] as const);
    const tables = Object.fromEntries(Object.entries(this.maps).map(([table, rows]) => [table, rowsOf(rows)]));
    return { tables, counts: [...this.#counts], heartbeats: [...this.#heartbeats] };
  }

  /** Fills empty tables. */
  load({ tables, counts, heartbeats }: Pick<StoreImage, 'tables' | 'counts' | 'heartbeats'>): void {
    for (const table of Object.keys(this.maps) as TableName[]) {
      const rows = this.maps[table] as Map<string, Stored<unknown>>;
      for (const [key, revision, row] of tables[table] ?? []) rows.set(key, { revision, row });
    }
    for (const [name, count] of counts) this.#counts.set(name, count);
    for (const [host, atMs] of heartbeats) this.#heartbeats.set(host, atMs);
  }

  /** Applies writes as one commit; the rows that changed, for mirrors. */
  write(writes: readonly Write[], revision: number, claimToken: number): Rows {
    const changed = new Map<string, { table: TableName; key: string }>();
    const touch = (table: TableName, key: string) => changed.set(`${table} ${key}`, { table, key });
    for (const write of writes) {
      switch (write.kind) {
        case 'put':
          (this.maps[write.table] as Map<string, Stored<unknown>>).set(write.key, { row: write.row, revision });
          touch(write.table, write.key);
          break;
        case 'claim':
          this.maps.consumer.set(write.key, { row: { ...write.row, claimToken }, revision });
          touch('consumer', write.key);
          break;
        case 'delete':
          this.maps[write.table].delete(write.key);
          touch(write.table, write.key);
          break;
        case 'add':
          this.#add(write, revision);
          touch(write.table, write.key);
          break;
        case 'stamp':
          this.#stamp(write.key, write.atMs, revision);
          break;
        case 'raise':
          this.#raise(write.key, revision);
          touch('usage', write.key);
          break;
        case 'show':
          touch('usage', write.key);
          break;
        case 'count':
          this.move(write.name, write.by);
          break;
        case 'record':
          this.#records.add(write);
          break;
        case 'unrecord':
          this.#records.delete(write);
          break;
        case 'beat':
          this.#heartbeats.set(write.host, Math.max(write.atMs, this.#heartbeats.get(write.host) ?? 0));
          renewHolder(this.maps.holder, write.host, write.atMs);
          break;
        case 'mute':
          this.#heartbeats.delete(write.host);
          break;
      }
    }
    const rows: RowLists = {};
    for (const { table, key } of changed.values()) this.#addRow(rows, table, key);
    return rows;
  }

  move(counter: string, by: number): void {
    const count = this.count(counter) + by;
    if (count === 0) this.#counts.delete(counter);
    else this.#counts.set(counter, count);
  }

  #add({ table, key, amounts }: Extract<Write, { kind: 'add' }>, revision: number): void {
    if (table === 'usage') {
      const { generation, used } = this.get(table, key)?.row ?? { generation: 0, used: {} };
      this.maps.usage.set(key, { row: { generation, used: withAmounts(used, amounts) }, revision });
      return;
    }
    const { atMs, amounts: present } = this.get(table, key)?.row ?? { atMs: 0, amounts: {} };
    this.maps[table].set(key, { row: { atMs, amounts: withAmounts(present, amounts) }, revision });
  }

  #stamp(project: string, atMs: number, revision: number): void {
    const row = this.get('project_usage', project)?.row ?? { atMs: 0, amounts: {} };
    this.maps.project_usage.set(project, { row: { ...row, atMs: laterOf(row.atMs, atMs) }, revision });
  }

  #raise(providerUuid: string, revision: number): void {
    const usage = this.maps.usage.get(providerUuid);
    if (!usage) return;
    this.maps.usage.set(providerUuid, { row: { ...usage.row, generation: usage.row.generation + 1 }, revision });
  }

  #addRow(rows: RowLists, table: TableName, key: string): void {
    const generation = this.maps.usage.get(key)?.row.generation;
    addRow(rows, table, { key, stored: this.get(table, key), generation });
  }
}
