import { randomUUID } from 'node:crypto';
import { inventory } from '#libs/domain/inventory';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { RedisPlacementStore } from '#libs/placement/redis/placement-store';
import { connectRedis, type RedisClient } from '#libs/redis/connect';
import { silentLog } from '#libs/runtime/log';
import { systemRandom } from '#libs/runtime/system';
import { aProvider, aWrite, claim, commit, mustCommit } from '#libs/testing/placement/placement';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';

/** Limit for a shared machine; alone it takes 20 ms. */
const MOST_US = 150_000;

let server: TestServer;
let observer: RedisClient;
let store: PlacementStore;

beforeAll(async () => {
  server = await startRedis();
  observer = await connect();
  store = new RedisPlacementStore(await connect(), { cell: randomUUID(), streamLength: 1_000 });
});

afterAll(async () => {
  await Promise.all([store.close(), observer.close()]);
  await server.stop();
});

const connect = () =>
  connectRedis(server.url, {
    log: silentLog,
    random: systemRandom,
    commandTimeoutMs: 20_000,
    connectionName: 'bounded-scripts',
  });

/** The longest time that one command blocked the store, in microseconds. */
async function longestUs(work: () => Promise<unknown>): Promise<number> {
  await observer.run((redis) => redis.config('SET', 'slowlog-log-slower-than', '0', 'slowlog-max-len', '10000'));
  await observer.run((redis) => redis.slowlog('RESET'));
  await work();
  const entries = (await observer.run((redis) => redis.slowlog('GET', '10000'))) as [number, number, number][];
  return Math.max(...entries.map(([, , us]) => us));
}

it('rewrites a thousand consumers of a provider that is over its capacity without standing still', async () => {
  const provider = await aProvider(store, { VCPU: inventory(1_000) });
  const consumers = Array.from({ length: 1_000 }, () => aWrite({ [provider]: { VCPU: 1 } }));
  expect((await claim(store, ...consumers)).kind).toBe('committed');
  const smaller = { inventories: { VCPU: inventory(1) }, generation: undefined, replace: true } as const;
  await mustCommit(store, { kind: 'write_inventories', providerUuid: provider, ...smaller });
  const us = await longestUs(async () => {
    expect((await claim(store, ...consumers)).kind).toBe('committed');
    const [first, ...others] = consumers;
    const more = { ...first, allocations: { [provider]: { VCPU: 2 } } } as (typeof consumers)[number];
    expect((await claim(store, more, ...others)).kind).toBe('capacity');
  });
  expect(us).toBeLessThan(MOST_US);
});

it('takes the largest body that the placement API takes without standing still', async () => {
  const classes = { VCPU: inventory(10_000), MEMORY_MB: inventory(10_000), DISK_GB: inventory(10_000) };
  const provider = await aProvider(store, classes);
  const resources = { VCPU: 1, MEMORY_MB: 1, DISK_GB: 1 };
  const [first, other] = [provider, await aProvider(store, classes)];
  // 5,000 amounts of 1,024 consumers.
  const consumers = Array.from({ length: 1_024 }, (_, n) =>
    aWrite({ [first]: resources, ...(n < 642 ? { [other]: resources } : {}) }, { owner: 'api' }),
  );
  const us = await longestUs(async () => {
    expect((await commit(store, { kind: 'write_allocations', consumers })).kind).toBe('committed');
    expect((await commit(store, { kind: 'write_allocations', consumers })).kind).toBe('committed');
    expect((await commit(store, { kind: 'reshape', inventories: [], consumers })).kind).toBe('committed');
  });
  expect(us).toBeLessThan(2 * MOST_US);
});
