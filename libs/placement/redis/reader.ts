import type { RedisClient } from '../../redis/connect';
import type { Stored, TableName, Tables } from '../commands/tables';
import type { Reader } from '../commands/transaction';
import type { Keys } from './keys';
import { decodeRow } from './row-format';

const SCAN_COUNT = 1_000;
/** Keys of one command: Redis does nothing else meanwhile. */
const KEYS_AT_ONCE = 1_000;

/** Reads rows from Redis: for transactions decoded, for snapshots as texts. */
export class RedisReader implements Reader {
  constructor(
    private readonly client: RedisClient,
    private readonly keys: Keys,
  ) {}

  async rows<T extends TableName>(table: T, keys: readonly string[]): Promise<(Stored<Tables[T]> | undefined)[]> {
    const texts = await this.texts(table, keys);
    return texts.map((text, i) => (text === null ? undefined : decodeRow(table, keys[i] ?? '', text)));
  }

  /** Row texts, null for those that are not there. */
  async texts(table: TableName, keys: readonly string[]): Promise<(string | null)[]> {
    const texts: (string | null)[] = [];
    for (const some of inChunks(keys)) {
      texts.push(...(await this.client.run((redis) => redis.hmget(this.keys[table], ...some))));
    }
    return texts;
  }

  async counts(names: readonly string[]): Promise<number[]> {
    const counts: number[] = [];
    for (const some of inChunks(names)) {
      counts.push(...(await this.client.run((redis) => redis.hmget(this.keys.counters, ...some))).map(Number));
    }
    return counts;
  }

  silentHosts(silentSinceMs: number, limit: number): Promise<string[]> {
    return this.client.run((redis) =>
      redis.zrangebyscore(this.keys.heartbeats, '-inf', silentSinceMs, 'LIMIT', 0, limit),
    );
  }

  async records(key: string, most: number): Promise<string[]> {
    const members = await this.client.run((redis) =>
      redis.zrangebylex(this.keys.usageRecords, `[${key} `, `(${key}!`, 'LIMIT', 0, most),
    );
    return members.map((member) => member.slice(key.length + 1));
  }

  recordCount(key: string): Promise<number> {
    return this.client.run((redis) => redis.zlexcount(this.keys.usageRecords, `[${key} `, `(${key}!`));
  }

  async heardAt(hosts: readonly string[]): Promise<(string | null)[]> {
    if (hosts.length === 0) return [];
    return this.client.run((redis) => redis.zmscore(this.keys.heartbeats, ...hosts));
  }

  async scan<T extends TableName>(table: T): Promise<[string, Stored<Tables[T]>][]> {
    const found = new Map<string, Stored<Tables[T]>>();
    await this.scanTexts(table, async (texts) => {
      for (const [key, text] of texts) found.set(key, decodeRow(table, key, text));
    });
    return [...found];
  }

  /** Every row text of a table, in chunks; one that is written meanwhile may come twice. */
  async scanTexts(table: TableName, onTexts: (texts: [key: string, text: string][]) => Promise<void>): Promise<void> {
    let cursor = '0';
    do {
      const [next, flat] = await this.client.run((redis) => redis.hscan(this.keys[table], cursor, 'COUNT', SCAN_COUNT));
      const texts: [string, string][] = [];
      for (let i = 0; i + 1 < flat.length; i += 2) texts.push([flat[i] as string, flat[i + 1] as string]);
      if (texts.length > 0) await onTexts(texts);
      cursor = next;
    } while (cursor !== '0');
  }
}

function* inChunks(keys: readonly string[]): Iterable<readonly string[]> {
  if (keys.length > 0 && keys.length <= KEYS_AT_ONCE) yield keys;
  else for (let from = 0; from < keys.length; from += KEYS_AT_ONCE) yield keys.slice(from, from + KEYS_AT_ONCE);
}
