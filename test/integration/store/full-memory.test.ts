import { Redis } from 'ioredis';
import { RedisPlacementStore } from '#libs/placement/redis/placement-store';
import { connectRedis } from '#libs/redis/connect';
import { silentLog } from '#libs/runtime/log';
import { systemRandom } from '#libs/runtime/system';
import { aProvider, aWrite, claim, contentsOf } from '#libs/testing/placement/placement';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';
import { openApi } from '../../../services/placement-api/testing/api';

/* A Redis at its maxmemory, with the policy of deploy/: it refuses writes, and nothing is lost. */

const LIMIT_BYTES = 1_048_576;

let redis: TestServer;
let operator: Redis;
beforeAll(async () => {
  redis = await startRedis({ settings: { 'maxmemory-policy': 'noeviction' } });
  operator = new Redis(redis.url);
});
afterAll(async () => {
  operator?.disconnect();
  await redis?.stop();
});

it('refuses claims and releases with the reason, serves reads, loses nothing, and goes on when it has more', async () => {
  const options = { log: silentLog, random: systemRandom, commandTimeoutMs: 5_000, connectionName: 'test' };
  const store = new RedisPlacementStore(await connectRedis(redis.url, options), { cell: 'cell1', streamLength: 1_000 });
  const api = await openApi(store);
  const host = await aProvider(store);
  const held = aWrite({ [host]: { VCPU: 2 } }, { owner: 'api' });
  await claim(store, held);
  const before = await contentsOf(store);
  const retry = aWrite({ [host]: { VCPU: 1 } }, { owner: 'api' });

  await operator.config('SET', 'maxmemory', String(LIMIT_BYTES));
  const full = { code: 'unavailable', reason: 'store_full' };
  await expect(claim(store, retry)).rejects.toMatchObject(full);
  await expect(claim(store, { ...held, allocations: {}, expect: { kind: 'any' } })).rejects.toMatchObject(full);
  expect(await store.health()).toEqual({
    memoryBytes: expect.any(Number),
    memoryLimitBytes: LIMIT_BYTES,
    isFileFailing: false,
  });
  const refused = await api.post('/resource_providers', { name: 'new' });
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
  expect((await api.get(`/resource_providers/${host}`)).status).toBe(200);
  expect(await contentsOf(store)).toEqual(before);

  await operator.config('SET', 'maxmemory', '0');
  expect(await claim(store, retry)).toMatchObject({ kind: 'committed' });
  expect((await api.post('/resource_providers', { name: 'new' })).status).toBe(200);
  await api.close();
});
