import { asCatalogueName, asConsumer, asProvider, asUsage } from '../commands/as-rows';
import type { Stored, StoredConsumer, TableName, Tables } from '../commands/tables';
import type { Guard, Reader, Write } from '../commands/transaction';
import type { Rows } from '../store';

type Maps = { readonly [T in TableName]: Map<string, Stored<Tables[T]>> };
type MutableRows = { -readonly [K in keyof Rows]: NonNullable<Rows[K]>[number][] };

/** All rows in maps; reads, guards and writes are each one step without an interruption. */
export class MemoryTables implements Reader {
  readonly maps: Maps = {
    provider: new Map(),
    usage: new Map(),
    host: new Map(),
    consumer: new Map(),
    resource_class: new Map(),
    trait: new Map(),
    name: new Map(),
    tree: new Map(),
    sequence: new Map(),
  };
  readonly #counts = new Map<string, number>();
  readonly #heartbeats = new Map<string, number>();

  get<T extends TableName>(table: T, key: string): Stored<Tables[T]> | undefined {
    return this.maps[table].get(key);
  }

  async rows<T extends TableName>(table: T, keys: readonly string[]): Promise<(Stored<Tables[T]> | undefined)[]> {
    return keys.map((key) => this.get(table, key));
  }

  async scan<T extends TableName>(table: T): Promise<[string, Stored<Tables[T]>][]> {
    return [...this.maps[table]];
  }

  count(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  async counts(names: readonly string[]): Promise<number[]> {
    return names.map((name) => this.count(name));
  }

  async silentHosts(silentSinceMs: number, limit: number): Promise<string[]> {
    return [...this.#heartbeats]
      .filter(([, atMs]) => atMs <= silentSinceMs)
      .sort(([hostA, a], [hostB, b]) => a - b || (hostA < hostB ? -1 : 1))
      .slice(0, limit)
      .map(([host]) => host);
  }

  holds(guard: Guard): boolean {
    switch (guard.kind) {
      case 'row':
        return this.get(guard.table, guard.key) === guard.stored;
      case 'count':
        return this.count(guard.name) === guard.count;
      case 'silent':
        return (this.#heartbeats.get(guard.host) ?? 0) <= guard.silentSinceMs;
    }
  }

  /** Writes and answers with what mirrors must learn of it. */
  write(writes: readonly Write[], revision: number): Rows {
    const changed = new Map<string, { table: TableName; key: string }>();
    const touch = (table: TableName, key: string) => changed.set(`${table} ${key}`, { table, key });
    for (const write of writes) {
      switch (write.kind) {
        case 'put':
          (this.maps[write.table] as Map<string, Stored<unknown>>).set(write.key, { row: write.row, revision });
          touch(write.table, write.key);
          break;
        case 'claim':
          this.maps.consumer.set(write.key, { row: { ...write.row, claimRevision: revision }, revision });
          touch('consumer', write.key);
          break;
        case 'delete':
          this.maps[write.table].delete(write.key);
          touch(write.table, write.key);
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
        case 'beat':
          this.#heartbeats.set(write.host, Math.max(write.atMs, this.#heartbeats.get(write.host) ?? 0));
          break;
        case 'mute':
          this.#heartbeats.delete(write.host);
          break;
      }
    }
    return this.#rowsOf([...changed.values()]);
  }

  move(counter: string, by: number): void {
    const count = this.count(counter) + by;
    if (count === 0) this.#counts.delete(counter);
    else this.#counts.set(counter, count);
  }

  #raise(providerUuid: string, revision: number): void {
    const usage = this.maps.usage.get(providerUuid);
    if (!usage) return;
    this.maps.usage.set(providerUuid, { row: { ...usage.row, generation: usage.row.generation + 1 }, revision });
  }

  #rowsOf(changed: readonly { table: TableName; key: string }[]): Rows {
    const rows: Partial<MutableRows> = {};
    for (const { table, key } of changed) this.#addRow(rows, table, key);
    return rows;
  }

  #addRow(rows: Partial<MutableRows>, table: TableName, key: string): void {
    switch (table) {
      case 'provider': {
        const stored = this.maps.provider.get(key);
        if (stored) (rows.providers ??= []).push(asProvider(stored, this.maps.usage.get(key)?.row.generation ?? 0));
        else (rows.deletedProviders ??= []).push(key);
        break;
      }
      case 'usage': {
        const stored = this.maps.usage.get(key);
        if (stored) (rows.usages ??= []).push(asUsage(key, stored));
        break;
      }
      case 'host': {
        const stored = this.maps.host.get(key);
        if (stored) (rows.hosts ??= []).push({ ...stored.row, revision: stored.revision });
        else (rows.deletedHosts ??= []).push(key);
        break;
      }
      case 'consumer': {
        const stored: Stored<StoredConsumer> | undefined = this.maps.consumer.get(key);
        if (stored) (rows.consumers ??= []).push(asConsumer(stored));
        else (rows.deletedConsumers ??= []).push(key);
        break;
      }
      case 'resource_class': {
        const stored = this.maps.resource_class.get(key);
        if (stored) (rows.resourceClasses ??= []).push(asCatalogueName(key, stored));
        else (rows.deletedResourceClasses ??= []).push(key);
        break;
      }
      case 'trait': {
        const stored = this.maps.trait.get(key);
        if (stored) (rows.traits ??= []).push(asCatalogueName(key, stored));
        else (rows.deletedTraits ??= []).push(key);
        break;
      }
      case 'name':
      case 'tree':
      case 'sequence':
        break;
    }
  }
}
