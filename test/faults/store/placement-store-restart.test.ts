import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { inventory } from '#libs/domain/inventory';
import { Mirror } from '#libs/placement/mirror/mirror';
import { RedisPlacementStore } from '#libs/placement/redis/placement-store';
import { connectRedis, type RedisClient } from '#libs/redis/connect';
import { silentLog } from '#libs/runtime/log';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { aProvider, aWrite, claim, contentsOf } from '#libs/testing/placement/placement';
import { violationsOf } from '#libs/testing/placement/placement-invariants';
import { contentsOfMirror } from '#libs/testing/placement/placement-store-stream';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';

const clock = systemClock();
const TIMEOUT_MS = 500;
let server: TestServer;
let client: RedisClient;
let store: RedisPlacementStore;
let mirror: Mirror;

async function open(appendOnly: boolean): Promise<void> {
  server = await startRedis({ appendOnly });
  client = await connectRedis(server.url, {
    log: silentLog,
    random: systemRandom,
    commandTimeoutMs: TIMEOUT_MS,
    connectionName: 'fault',
  });
  // Answered writes are on disk.
  if (appendOnly) await client.run((redis) => redis.config('SET', 'appendfsync', 'always'));
  store = new RedisPlacementStore(client, { cell: 'c1', streamLength: 10_000 });
  mirror = await Mirror.open(store, { clock, random: systemRandom, log: silentLog });
}

afterEach(async () => {
  await mirror.close();
  await store.close();
  await server.stop();
});

/** Retries an operation until it is done, as services do; counts the times that the store was away. */
async function untilDone<T>(operation: () => Promise<T>, onAway: () => void = () => {}): Promise<T> {
  for (;;) {
    try {
      return await operation();
    } catch (thrown) {
      const error = BerthError.from(thrown);
      if (error.code !== 'unavailable') throw error;
      onAway();
      await sleep(clock, 20);
    }
  }
}

async function mirrorIsUpToDate(): Promise<void> {
  const revision = await untilDone(() => store.revision());
  await untilDone(() => mirror.waitFor(revision, { timeoutMs: 10_000 }));
  while (!mirror.readiness().ready) await sleep(clock, 10);
}

it('loses no answered claim when Redis is killed in the middle of claims, and the mirror comes back', async () => {
  await open(true);
  const host = await aProvider(store, { VCPU: inventory(1_000) });
  const answered = new Map<string, number>();
  let timesAway = 0;
  const worker = async () => {
    while (answered.size < 600) {
      const write = aWrite({ [host]: { VCPU: 1 } });
      const result = await untilDone(
        () => claim(store, write),
        () => timesAway++,
      );
      if (result.kind !== 'committed') throw new Error(`refused: ${JSON.stringify(result)}`);
      mirror.apply(result.change);
      answered.set(write.uuid, result.claimToken);
    }
  };
  const workers = Promise.all([1, 2, 3, 4].map(worker));
  while (answered.size < 200) await sleep(clock, 1);
  await server.kill('SIGKILL');
  await server.restart();
  await workers;
  await mirrorIsUpToDate();
  const contents = await contentsOf(store);
  expect(timesAway).toBeGreaterThan(0);
  expect(violationsOf(contents)).toEqual([]);
  const revisions = new Map(contents.consumers.map((consumer) => [consumer.uuid, consumer.claimToken]));
  for (const [uuid, revision] of answered) expect(revisions.get(uuid)).toBe(revision);
  expect(contentsOfMirror(mirror).consumers).toHaveLength(contents.consumers.length);
});

it('notices that Redis came back empty, and never reuses a revision', async () => {
  await open(false);
  const host = await aProvider(store);
  const before = await claim(store, aWrite({ [host]: { VCPU: 1 } }));
  await server.kill('SIGKILL');
  await server.restart();
  await untilDone(() => store.revision());
  const emptied = new Promise<void>((resolve) => {
    mirror.onChange(() => mirror.providerCount === 0 && resolve());
  });
  if (mirror.providerCount > 0) await emptied;
  expect(await store.revision()).toBe(0);
  const uuid = await aProvider(store);
  await mirrorIsUpToDate();
  expect(mirror.provider(uuid)?.generation).toBe(1);
  expect(before.kind).toBe('committed');
});

it('answers unavailable within the time when Redis hangs or is gone', async () => {
  await open(true);
  const host = await aProvider(store);
  const failing = async () => {
    const startedMs = clock.now();
    await expect(claim(store, aWrite({ [host]: { VCPU: 1 } }))).rejects.toMatchObject({ code: 'unavailable' });
    return clock.now() - startedMs;
  };
  await server.kill('SIGSTOP');
  expect(await failing()).toBeLessThan(TIMEOUT_MS + 1_000);
  await server.kill('SIGCONT');
  await untilDone(() => store.revision());
  await server.kill('SIGKILL');
  expect(await failing()).toBeLessThan(TIMEOUT_MS + 1_000);
  expect(mirror.provider(host)?.uuid).toBe(host);
  await server.restart();
  await mirrorIsUpToDate();
});
