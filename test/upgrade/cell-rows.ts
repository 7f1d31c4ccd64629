import type { Redis } from 'ioredis';
import type { Row } from './fixtures';

const READERS: Readonly<Record<Row['type'], (redis: Redis, key: string) => Promise<Row>>> = {
  string: async (redis, key) => ({ type: 'string', value: (await redis.get(key)) ?? '' }),
  hash: async (redis, key) => ({ type: 'hash', value: await redis.hgetall(key) }),
  list: async (redis, key) => ({ type: 'list', value: await redis.lrange(key, 0, -1) }),
  set: async (redis, key) => ({ type: 'set', value: (await redis.smembers(key)).sort() }),
  zset: async (redis, key) => ({ type: 'zset', value: await redis.zrange(key, '0', '-1', 'WITHSCORES') }),
  stream: async (redis, key) => ({ type: 'stream', value: await redis.xrange(key, '-', '+') }),
};

/** Reads all keys of a server. What expires is not seen from them. */
export async function dumpRows(redis: Redis): Promise<Record<string, Row>> {
  const rows: Record<string, Row> = {};
  for (const key of (await redis.keys('*')).sort()) {
    rows[key] = await READERS[(await redis.type(key)) as Row['type']](redis, key);
  }
  return rows;
}

/** Writes the recorded rows of `cell1` as those of another cell. */
export async function loadRows(redis: Redis, rows: Readonly<Record<string, Row>>, cell: string): Promise<void> {
  for (const [name, row] of Object.entries(rows)) await loadRow(redis, name.replace('{cell1}', `{${cell}}`), row);
}

async function loadRow(redis: Redis, key: string, row: Row): Promise<void> {
  switch (row.type) {
    case 'string':
      await redis.set(key, row.value);
      break;
    case 'hash':
      await redis.hset(key, row.value);
      break;
    case 'list':
      await redis.rpush(key, ...row.value);
      break;
    case 'set':
      await redis.sadd(key, ...row.value);
      break;
    case 'zset':
      for (let i = 0; i < row.value.length; i += 2) await redis.zadd(key, row.value[i + 1] ?? '', row.value[i] ?? '');
      break;
    case 'stream':
      for (const [id, fields] of row.value) await redis.xadd(key, id, ...fields);
      break;
    default:
      row satisfies never;
  }
}
