import { randomUUID } from 'node:crypto';
import {
  array,
  assert,
  asyncProperty,
  boolean,
  constantFrom,
  dictionary,
  integer,
  option,
  record,
  tuple,
} from 'fast-check';
import { inventory } from '#libs/domain/inventory';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { Mirror } from '#libs/placement/mirror/mirror';
import type { Command, CommitResult, ReportResult } from '#libs/placement/port/placement-store';
import { RedisPlacementStore } from '#libs/placement/redis/placement-store';
import { connectRedis, type RedisClient } from '#libs/redis/connect';
import { silentLog } from '#libs/runtime/log';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { AT_MS, aWrite, contentsOf, mustCommit } from '#libs/testing/placement/placement';
import { violationsOf } from '#libs/testing/placement/placement-invariants';
import { actionSequences, run } from '#libs/testing/placement/placement-random';
import { contentsOfMirror } from '#libs/testing/placement/placement-store-stream';
import { setQuota } from '#libs/testing/placement/projects/placement-store-quotas';
import { sharedServer } from '../../shared-servers';

let client: RedisClient;
beforeAll(async () => {
  client = await connectRedis(sharedServer('redis'), {
    log: silentLog,
    random: systemRandom,
    commandTimeoutMs: 5_000,
    connectionName: 'model',
  });
});
afterAll(() => client.close());

/** A store that begins like the memory store, which uses the first command's time instead of the server's. */
async function openStore(): Promise<RedisPlacementStore> {
  const cell = randomUUID();
  await client.run(async (redis) => {
    const [, server] = /master_replid:(\w+)/.exec(await redis.info('replication')) ?? [];
    const last = AT_MS * 1_000 - 1;
    await redis.mset(`{${cell}}:revision`, last, `{${cell}}:claim-token`, last, `{${cell}}:birth`, `a 1 ${server}`);
  });
  return new RedisPlacementStore(client, { cell, streamLength: 1_000 });
}

function openMirror(store: RedisPlacementStore): Promise<Mirror> {
  return Mirror.open(store, { clock: systemClock(), random: systemRandom, log: silentLog });
}

it('answers any commands as the memory store does, and comes to the same rows', async () => {
  await assert(
    asyncProperty(actionSequences(80), async (commands) => {
      const memory = new MemoryPlacementStore();
      const redis = await openStore();
      for (const command of commands) {
        expect(inAnyOrder(await run(redis, command))).toEqual(inAnyOrder(await run(memory, command)));
      }
      const contents = await contentsOf(redis);
      expect(contents).toEqual(await contentsOf(memory));
      expect(violationsOf(contents)).toEqual([]);
    }),
    { numRuns: 150 },
  );
});

it('answers the same when claims are decided on a mirror that stopped following', async () => {
  const sequences = tuple(actionSequences(60), integer({ min: 3, max: 20 }));
  await assert(
    asyncProperty(sequences, async ([commands, commandsPerMirror]) => {
      const memory = new MemoryPlacementStore();
      const redis = await openStore();
      let atMs = AT_MS;
      for (const [n, command] of commands.entries()) {
        // Opening it makes the store use it, and nothing follows once it is closed.
        if (n % commandsPerMirror === 0) await (await openMirror(redis)).close();
        // A clock that goes back is counted otherwise where the row's time is not known.
        atMs = Math.max(atMs, command.atMs);
        const action = { ...command, atMs };
        const expected = withoutFigures(await run(memory, action));
        expect(inAnyOrder(withoutFigures(await run(redis, action)))).toEqual(inAnyOrder(expected));
      }
      const contents = await contentsOf(redis);
      expect(contents).toEqual(await contentsOf(memory));
      expect(violationsOf(contents)).toEqual([]);
    }),
    { numRuns: 40, endOnFailure: true },
  );
});

it('decides what is committed at once as if one came after the other', async () => {
  const providers = [randomUUID(), randomUUID()];
  const amounts = record({ VCPU: integer({ min: 1, max: 4 }) });
  const takes = dictionary(constantFrom(...providers), amounts, { noNullPrototype: true });
  const groups = option(constantFrom('affinity' as const, 'anti-affinity' as const), { nil: undefined });
  const guards = constantFrom({ kind: 'any' } as const, { kind: 'any' } as const, { kind: 'absent' } as const);
  // Few consumers, so that a batch often has several writes of one; an empty claim releases.
  const uuids = constantFrom(...[1, 2, 3, 4].map((n) => `00000000-0000-4000-8000-00000000000${n}`));
  const write = {
    takes,
    policy: groups,
    host: constantFrom('a', 'b'),
    isForced: boolean(),
    withinQuota: boolean(),
    uuid: uuids,
    expect: guards,
  };
  const writes = array(record(write));
  await assert(
    asyncProperty(writes, async (all) => {
      const memory = new MemoryPlacementStore();
      const redis = await openStore();
      for (const store of [memory, redis]) {
        for (const uuid of providers) {
          const inventories = { VCPU: inventory(6) };
          await mustCommit(store, { kind: 'put_provider', uuid, name: uuid, parentUuid: undefined, mode: 'create' });
          await mustCommit(store, {
            kind: 'write_inventories',
            providerUuid: uuid,
            generation: undefined,
            inventories,
            replace: true,
          });
        }
      }
      for (const store of [memory, redis]) await setQuota(store, 'project-1', { limits: { VCPU: 7, instances: 3 } });
      const before = await redis.revision();
      const commands = all.map(
        ({ takes: allocations, policy, host, isForced: force, withinQuota, uuid, expect: guard }): Command => {
          const group = policy === undefined ? {} : { group: { group: { id: policy, policy, maxPerHost: 2 }, host } };
          return {
            kind: 'write_allocations',
            atMs: AT_MS,
            consumers: [aWrite(allocations, { ...group, uuid, expect: guard })],
            force,
            withinQuota,
          };
        },
      );
      const results = await Promise.all(commands.map((command) => redis.commit(command)));
      for (const [i, command] of commands.entries()) {
        expect(outcomeOf(results[i])).toEqual(outcomeOf(await memory.commit(command)));
      }
      expect(withoutRevisions(await contentsOf(redis))).toEqual(withoutRevisions(await contentsOf(memory)));
      expect((await redis.revision()) - before).toBe(results.some(({ kind }) => kind === 'committed') ? 1 : 0);
    }),
    { numRuns: 150 },
  );
});

it('gives a mirror that follows the same rows as a snapshot', async () => {
  await assert(
    asyncProperty(actionSequences(60), async (commands) => {
      const redis = await openStore();
      const follower = await openMirror(redis);
      for (const command of commands) await run(redis, command);
      await follower.waitFor(await redis.revision(), { timeoutMs: 5_000 });
      const late = await openMirror(redis);
      expect(contentsOfMirror(follower)).toEqual(contentsOfMirror(late));
      await Promise.all([follower.close(), late.close()]);
    }),
    { numRuns: 20 },
  );
});

/** An outcome without the fields that differ within a combined commit. */
function outcomeOf(result: CommitResult | undefined): object {
  return { ...result, change: undefined, usage: undefined };
}

/** A refusal without the figures that a mirror may show as they were. */
function withoutFigures(result: CommitResult | ReportResult): object {
  return result.kind === 'committed' ? result : { ...result, usage: undefined, excess: undefined };
}

function withoutRevisions(contents: object): unknown {
  return JSON.parse(JSON.stringify(contents, (key, value: unknown) => (key === 'revision' ? undefined : value)));
}

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
