import { randomUUID } from 'node:crypto';
import { assert, asyncProperty } from 'fast-check';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { Mirror } from '#libs/placement/mirror';
import { RedisPlacementStore } from '#libs/placement/redis/placement-store';
import { connectRedis, type RedisClient } from '#libs/redis/connect';
import { silentLog } from '#libs/runtime/log';
import { systemClock } from '#libs/runtime/system';
import { contentsOf } from '#libs/testing/placement';
import { violationsOf } from '#libs/testing/placement-invariants';
import { commandSequences } from '#libs/testing/placement-random';
import { contentsOfMirror } from '#libs/testing/placement-store-stream';
import { sharedServer } from '../shared-servers';

jest.setTimeout(60_000);

let client: RedisClient;
beforeAll(async () => {
  client = await connectRedis(sharedServer('redis'), {
    log: silentLog,
    commandTimeoutMs: 5_000,
    connectionName: 'model',
  });
});
afterAll(() => client.close());

it('answers any commands as the memory store does, and comes to the same rows', async () => {
  await assert(
    asyncProperty(commandSequences(80), async (commands) => {
      const memory = new MemoryPlacementStore();
      const redis = new RedisPlacementStore(client, { cell: randomUUID(), streamLength: 1_000 });
      for (const command of commands) {
        expect(inAnyOrder(await redis.commit(command))).toEqual(inAnyOrder(await memory.commit(command)));
      }
      const contents = await contentsOf(redis);
      expect(contents).toEqual(await contentsOf(memory));
      expect(violationsOf(contents)).toEqual([]);
    }),
    { numRuns: 150 },
  );
});

it('gives a mirror that follows the same rows as a snapshot', async () => {
  await assert(
    asyncProperty(commandSequences(60), async (commands) => {
      const redis = new RedisPlacementStore(client, { cell: randomUUID(), streamLength: 1_000 });
      const follower = await Mirror.open(redis, { clock: systemClock(), log: silentLog });
      for (const command of commands) await redis.commit(command);
      await follower.waitFor(await redis.revision(), { timeoutMs: 5_000 });
      const late = await Mirror.open(redis, { clock: systemClock(), log: silentLog });
      expect(contentsOfMirror(follower)).toEqual(contentsOfMirror(late));
      await Promise.all([follower.close(), late.close()]);
    }),
    { numRuns: 20 },
  );
});

/** Rows of one kind in one change have no order. */
function inAnyOrder(result: object): unknown {
  if (!('change' in result)) return result;
  const lists = Object.entries(result.change as object).map(([kind, rows]) => [
    kind,
    Array.isArray(rows) ? rows.map((row: unknown) => JSON.stringify(sortKeys(row))).sort() : (rows as unknown),
  ]);
  return Object.fromEntries(lists);
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sortKeys(inner)]),
  );
}
