import { setTimeout as pass } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { inventory } from '#libs/domain/inventory';
import { Mirror } from '#libs/placement/mirror/mirror';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { lostUpToMs } from '#libs/placement/port/store-identity';
import { readConfig } from '#libs/runtime/config';
import { type Log, silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { aProvider, aWrite, claim } from '#libs/testing/placement/placement';
import { contentsOfMirror } from '#libs/testing/placement/placement-store-stream';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';

/* A store that lost what it had answered, as one does that syncs each second, or whose operator puts a snapshot back. */

let server: TestServer;
let store: PlacementStore;
let mirror: Mirror;
let told: string[];

beforeEach(async () => {
  server = await startRedis({ settings: { 'enable-debug-command': 'local' } });
  told = [];
  const error = (fields: object) => void told.push((fields as { event: string }).event);
  const log: Log = { ...silentLog, error };
  const around = { clock: systemClock(), random: systemRandom, log, metrics: createMetrics({}) };
  store = await openPlacementStore(readConfig(placementOptions, { BERTH_STORE_URL: server.url }), around);
  mirror = await Mirror.open(store, around);
});
afterEach(async () => {
  await mirror.close();
  await store.close();
  await server.stop();
});

async function onServer(question: (redis: Redis) => Promise<unknown>): Promise<void> {
  const redis = new Redis(server.url);
  await question(redis);
  redis.disconnect();
}

async function mustClaim(provider: string) {
  const uuid = systemRandom.uuid();
  const result = await claim(store, aWrite({ [provider]: { VCPU: 1 } }, { uuid }));
  if (result.kind !== 'committed') throw new Error(`refused: ${JSON.stringify(result)}`);
  return { uuid, token: result.claimToken, revision: result.change.revision };
}

/** Resolves when the process has asked which store it is, after this call. */
async function untilWatched(): Promise<void> {
  const identify = jest.spyOn(store, 'identify');
  await eventually(() => identify.mock.results.length > 0);
  await identify.mock.results[0]?.value;
  identify.mockRestore();
}

async function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await pass(20);
}

/** Ways in which a store loses what was written since; each resolves to how that is brought about. */
const losses: Readonly<Record<string, () => Promise<() => Promise<void>>>> = {
  async 'is killed, and what it saved last is loaded'() {
    await onServer((redis) => redis.save());
    return async () => {
      await server.kill('SIGKILL');
      await server.restart();
      await eventually(() =>
        store.revision().then(
          () => true,
          () => false,
        ),
      );
    };
  },
  async 'loads an older file while it runs'() {
    await onServer((redis) => redis.save());
    return () => onServer((redis) => redis.call('DEBUG', 'RELOAD', 'NOSAVE'));
  },
  async 'has keys of a copy restored while it runs'() {
    const copy: [key: string, dump: Buffer][] = [];
    await onServer(async (redis) => {
      for (const key of await redis.keys('*')) copy.push([key, await redis.dumpBuffer(key)]);
    });
    return () =>
      onServer(async (redis) => {
        const restore = redis.multi();
        for (const [key, dump] of copy) restore.restore(key, 0, dump, 'REPLACE');
        await restore.exec();
      });
  },
};

it.each(Object.keys(losses))(
  'says that a store went back that %s, gives no number again, and mirrors show what is left',
  async (loss) => {
    const provider = await aProvider(store, { VCPU: inventory(1_000) });
    const kept = await mustClaim(provider);
    const lose = await losses[loss]?.();
    const lost = [await mustClaim(provider), await mustClaim(provider)];
    await eventually(() => mirror.revision >= (lost[1]?.revision ?? 0));
    await lose?.();
    const lostByMs = ((await store.identify()).nowMs ?? 0) - 1;

    // The number of lost commits, so that plain counting would give the same numbers again.
    const later = [await mustClaim(provider), await mustClaim(provider), await mustClaim(provider)];
    for (const { token, revision } of later) {
      expect(lost.map((one) => one.token)).not.toContain(token);
      expect(revision).toBeGreaterThan(lost[1]?.revision ?? 0);
    }
    await eventually(() => mirror.readiness().ready && mirror.revision >= (later[2]?.revision ?? 0));
    const uuids = [kept, ...later].map(({ uuid }) => uuid).sort();
    expect(
      contentsOfMirror(mirror)
        .consumers.map(({ uuid }) => uuid)
        .sort(),
    ).toEqual(uuids);
    expect(mirror.usage(provider)).toEqual({ VCPU: 4 });
    await eventually(() => told.length > 0);
    expect(told).toEqual(['store_went_back']);
    expect(lostUpToMs(await store.identify())).toBeGreaterThanOrEqual(lostByMs);
  },
);

it('says that the store is a new one when somebody wiped it', async () => {
  const provider = await aProvider(store);
  const before = await mustClaim(provider);
  const born = (await store.identify()).birthId;
  await untilWatched();
  await onServer((redis) => redis.flushall());
  await eventually(() => mirror.providerCount === 0);
  const next = await mustClaim(await aProvider(store, { VCPU: inventory(8) }));
  expect(next.token).toBeGreaterThan(before.token);
  expect(next.revision).toBeGreaterThan(before.revision);
  expect((await store.identify()).birthId).not.toBe(born);
  await eventually(() => told.length > 0);
  expect(told).toEqual(['store_new']);
});

it('says nothing of a store that was killed and has everything', async () => {
  await onServer((redis) => redis.config('SET', 'appendonly', 'yes', 'appendfsync', 'always'));
  const provider = await aProvider(store, { VCPU: inventory(8) });
  await mustClaim(provider);
  const { birthId } = await store.identify();
  await onServer((redis) => redis.save());
  await server.kill('SIGKILL');
  await server.restart();
  await eventually(() =>
    store.revision().then(
      () => true,
      () => false,
    ),
  );
  const { nowMs = 0, jumps } = await store.identify();
  expect(jumps).toHaveLength(1);
  expect(Math.abs(nowMs - (jumps[0]?.[1] ?? 0) / 1_000)).toBeLessThan(1_000);
  await mustClaim(provider);
  expect(await store.identify()).toMatchObject({ birthId, jumps: [[expect.any(Number), expect.any(Number)]] });
  await untilWatched();
  expect(told).toEqual([]);
});

it('knows until when it lost writes also where nobody has anything to commit', async () => {
  await mustClaim(await aProvider(store, { VCPU: inventory(8) }));
  await onServer((redis) => redis.save());
  await server.kill('SIGKILL');
  await server.restart();
  const isWritten = async () => {
    const identity = await store.identify().catch(() => undefined);
    return identity?.isUnwritten === false && identity.jumps.length === 1;
  };
  await eventually(isWritten);
  const { revision } = await store.identify();
  await eventually(() => mirror.revision >= revision);
  expect(mirror.providerCount).toBe(1);
});
