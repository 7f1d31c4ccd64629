import type { RedisClient } from '../../redis/connect';
import type { Stored, TableName, Tables } from '../commands/tables';
import type { Reader } from '../commands/transaction';
import { decodeCell } from './cells';
import type { Keys } from './keys';

const SCAN_COUNT = 1_000;

/** Reads rows from Redis. */
export class RedisReader implements Reader {
  readonly #client: RedisClient;
  readonly #keys: Keys;

  constructor(client: RedisClient, keys: Keys) {
    this.#client = client;
    this.#keys = keys;
  }

  async rows<T extends TableName>(table: T, keys: readonly string[]): Promise<(Stored<Tables[T]> | undefined)[]> {
    const cells = await this.cells(table, keys);
    return cells.map((cell, i) => (cell === null ? undefined : decodeCell(table, keys[i] ?? '', cell)));
  }

  async cells(table: TableName, keys: readonly string[]): Promise<(string | null)[]> {
    if (keys.length === 0) return [];
    return this.#client.run((redis) => redis.hmget(this.#keys[table], ...keys));
  }

  async counts(names: readonly string[]): Promise<number[]> {
    const counts = await this.#client.run((redis) => redis.hmget(this.#keys.counters, ...names));
    return counts.map(Number);
  }

  silentHosts(silentSinceMs: number, limit: number): Promise<string[]> {
    return this.#client.run((redis) =>
      redis.zrangebyscore(this.#keys.heartbeats, '-inf', silentSinceMs, 'LIMIT', 0, limit),
    );
  }

  async scan<T extends TableName>(table: T): Promise<[string, Stored<Tables[T]>][]> {
    const found = new Map<string, Stored<Tables[T]>>();
    await this.scanCells(table, async (cells) => {
      for (const [key, cell] of cells) found.set(key, decodeCell(table, key, cell));
    });
    return [...found];
  }

  /** Every cell of a table, in chunks; one that is written meanwhile may come twice. */
  async scanCells(table: TableName, onCells: (cells: [key: string, cell: string][]) => Promise<void>): Promise<void> {
    let cursor = '0';
    do {
      const [next, flat] = await this.#client.run((redis) =>
        redis.hscan(this.#keys[table], cursor, 'COUNT', SCAN_COUNT),
      );
      const cells: [string, string][] = [];
      for (let i = 0; i + 1 < flat.length; i += 2) cells.push([flat[i] as string, flat[i + 1] as string]);
      if (cells.length > 0) await onCells(cells);
      cursor = next;
    } while (cursor !== '0');
  }
}
