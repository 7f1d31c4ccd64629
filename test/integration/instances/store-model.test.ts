import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { canTransition, INSTANCE_STATES, type InstanceRow } from '#libs/domain/instance';
import { memoryInstanceStore } from '#libs/instances/memory/instance-store';
import { redisInstanceStore } from '#libs/instances/redis/instance-store';
import type { InstanceStore } from '#libs/instances/store';
import { connectRedis, type RedisClient } from '#libs/redis/connect';
import { silentLog } from '#libs/runtime/log';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { anInstance } from '#libs/testing/instances/instance';
import { sharedServer } from '../../shared-servers';

const UUIDS = Array.from({ length: 6 }, () => randomUUID()).sort();
const REQUESTS = Array.from({ length: 3 }, () => randomUUID());

let client: RedisClient;

beforeAll(async () => {
  const options = {
    log: silentLog,
    random: systemRandom,
    commandTimeoutMs: 5_000,
    connectionName: 'instance-store-model',
  };
  client = await connectRedis(sharedServer('redis'), options);
});

afterAll(() => client.close());

const uuid = fc.constantFrom(...UUIDS);
const time = fc.integer({ min: 1, max: 20 });
const columns = fc.record({
  uuid,
  version: fc.integer({ min: 1, max: 4 }),
  state: fc.constantFrom(...INSTANCE_STATES),
  host: fc.constantFrom(undefined, 'h1', 'h2'),
  projectId: fc.constantFrom('p1', 'p2'),
  dueAtMs: fc.option(time, { nil: undefined }),
  updatedAtMs: time,
});
// Distinct due times: the order of equal ones is undefined.
const row = columns.map((one) => ({
  ...one,
  dueAtMs: one.dueAtMs === undefined ? undefined : one.dueAtMs + UUIDS.indexOf(one.uuid) / 10,
}));
const filter = fc.record(
  {
    requestId: fc.constantFrom(...REQUESTS),
    projectId: fc.constantFrom('p1', 'p2'),
    state: fc.constantFrom(...INSTANCE_STATES),
    host: fc.constantFrom('h1', 'h2'),
  },
  { requiredKeys: [] },
);

/** One step, or several writes in one turn. */
type Step = (store: InstanceStore<InstanceRow>) => Promise<unknown>;
const step: fc.Arbitrary<Step> = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(...REQUESTS),
      fc.uniqueArray(row, { selector: (one) => one.uuid, minLength: 1, maxLength: 3 }),
    )
    .map(
      ([requestId, rows]): Step =>
        (store) =>
          store.create(
            requestId,
            rows.map((one) => anInstance({ ...one, requestId, state: 'scheduling' })),
          ),
    ),
  row.map(
    (fields): Step =>
      async (store) => {
        const [present] = await store.get([fields.uuid]);
        // Project and request never change, and callers follow the state machine.
        if (!present || !canTransition(present.state, fields.state)) return undefined;
        return store.update({ ...present, ...fields, projectId: present.projectId });
      },
  ),
  fc.tuple(fc.constantFrom(...REQUESTS), uuid, fc.array(row, { minLength: 2, maxLength: 6 })).map(
    ([requestId, created, rows]): Step =>
      async (store) => {
        const present = new Map((await store.get(UUIDS)).map((one) => [one.uuid, one]));
        const first = anInstance({ uuid: created, requestId });
        if (!present.has(created)) present.set(created, first);
        const begun: Promise<unknown>[] = [store.create(requestId, [first])];
        for (const fields of rows) {
          const before = present.get(fields.uuid);
          if (!before || !canTransition(before.state, fields.state)) continue;
          const next = { ...before, ...fields, projectId: before.projectId };
          if (next.version === before.version + 1) present.set(next.uuid, next);
          begun.push(store.update(next));
        }
        return (await Promise.allSettled(begun)).map((one) =>
          one.status === 'fulfilled' ? one.value : withoutUuids(one.reason),
        );
      },
  ),
  fc.tuple(filter, fc.option(uuid, { nil: undefined }), fc.integer({ min: 0, max: 4 })).map(
    ([by, marker, limit]): Step =>
      (store) =>
        store.list(by, marker, limit),
  ),
  fc.tuple(time, time, fc.integer({ min: 1, max: 3 })).map(
    ([now, lease, limit]): Step =>
      (store) =>
        store.takeDue(now, lease + 0.5, limit),
  ),
  time.map(
    (before): Step =>
      (store) =>
        store.forget(before, 10),
  ),
  fc.tuple(uuid, fc.integer({ min: 1, max: 6 })).map(
    ([one, version]): Step =>
      (store) =>
        store.markPublished(one, version),
  ),
  fc.constant<Step>(async (store) => {
    const all: (readonly InstanceRow[])[] = [];
    const { instanceCount } = await store.scanOutbox(0, async (rows) => void all.push(...rows));
    return { instanceCount, all: all.toSorted(([a], [b]) => ((a?.uuid ?? '') < (b?.uuid ?? '') ? -1 : 1)) };
  }),
  fc.constant<Step>((store) => store.get(UUIDS)),
  fc.constant<Step>(async (store) => {
    const all: InstanceRow[] = [];
    await store.scan(async (rows) => void all.push(...rows));
    return all.sort((a, b) => (a.uuid < b.uuid ? -1 : 1));
  }),
);

it('answers as the memory store does, whatever happens in whatever order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const [memory, redis] = [memoryInstanceStore(systemClock()), redisInstanceStore(client, randomUUID())];
      for (const one of steps) expect(await outcome(one, redis)).toEqual(await outcome(one, memory));
    }),
    { numRuns: 150 },
  );
});

async function outcome(one: Step, store: InstanceStore<InstanceRow>): Promise<unknown> {
  try {
    return await one(store);
  } catch (thrown) {
    return withoutUuids(thrown);
  }
}

function withoutUuids(thrown: unknown): string {
  return String(thrown).replace(/[0-9a-f-]{36}/, 'uuid');
}
