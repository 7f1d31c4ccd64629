import { randomUUID } from 'node:crypto';
import { setTimeout as pass } from 'node:timers/promises';
import { inventory } from '#libs/domain/inventory';
import { redisInstanceStore } from '#libs/instances/redis/instance-store';
import { redisLeaseStore } from '#libs/instances/redis/lease-store';
import { RedisPlacementStore } from '#libs/placement/redis/placement-store';
import { connectRedis, type RedisClient } from '#libs/redis/connect';
import { silentLog } from '#libs/runtime/log';
import { systemRandom } from '#libs/runtime/system';
import { anInstance, nextVersion } from '#libs/testing/instances/instance';
import { describeInstanceStore } from '#libs/testing/instances/instance-store-contract';
import { describeLeaseStore } from '#libs/testing/instances/lease-contract';
import { aProvider, aWrite, claim, contentsOf } from '#libs/testing/placement/placement';
import { violationsOf } from '#libs/testing/placement/placement-invariants';
import { describePlacementStore } from '#libs/testing/placement/placement-store-contract';
import { type RedisCluster, startRedisCluster } from '../../redis-groups';

const options = { log: silentLog, random: systemRandom, commandTimeoutMs: 5_000, connectionName: 'cluster-test' };

let cluster: RedisCluster;
const clients: RedisClient[] = [];
beforeAll(async () => {
  cluster = await startRedisCluster();
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});
afterAll(() => cluster.stop());

async function connect(): Promise<RedisClient> {
  const client = await connectRedis(cluster.url, options);
  clients.push(client);
  return client;
}

async function openPlacement(cell: string): Promise<RedisPlacementStore> {
  return new RedisPlacementStore(await connect(), { cell, streamLength: 10_000 });
}

describePlacementStore('redis as a Cluster', async () => {
  const cell = randomUUID();
  const another = () => openPlacement(cell);
  return { store: await another(), another, close: async () => {} };
});

describeInstanceStore('redis as a Cluster', async () => redisInstanceStore(await connect(), randomUUID()));

describeLeaseStore('redis as a Cluster', async () => ({
  store: redisLeaseStore(await connect(), randomUUID()),
  pass: (durationMs) => pass(durationMs),
}));

it('goes on claiming while the slot of the cell moves from one primary to the next, and the one after', async () => {
  const cell = randomUUID();
  const [placement, instances] = [await openPlacement(cell), redisInstanceStore(await connect(), cell)];
  const host = await aProvider(placement, { VCPU: inventory(100_000) });
  const stopping = new AbortController();
  const claimed: string[] = [];
  const work = async () => {
    while (!stopping.signal.aborted) {
      const write = aWrite({ [host]: { VCPU: 1 } });
      const result = await claim(placement, write);
      expect(result.kind).toBe('committed');
      const instance = anInstance({ uuid: write.uuid });
      await instances.create(instance.requestId, [instance]);
      await instances.update(nextVersion(instance, {}));
      claimed.push(write.uuid);
    }
  };
  const workers = Promise.all([work(), work(), work()]);
  for (let move = 0; move < 2; move++) {
    const before = claimed.length;
    await cluster.moveSlotOf(`{${cell}}:revision`);
    while (claimed.length < before + 20) await pass(5);
  }
  stopping.abort();
  await workers;
  const contents = await contentsOf(placement);
  expect(violationsOf(contents)).toEqual([]);
  expect(contents.consumers.map(({ uuid }) => uuid).sort()).toEqual(claimed.sort());
  expect(await instances.get(claimed)).toHaveLength(claimed.length);
});

it('waits for no replica that is not there: what was written has an unknown outcome', async () => {
  const cell = randomUUID();
  const client = await connectRedis(cluster.url, { ...options, commandTimeoutMs: 400, replicas: 1 });
  clients.push(client);
  const store = redisInstanceStore(client, cell);
  const instance = anInstance();
  const refused = { code: 'unavailable', reason: 'not_replicated' };
  await expect(store.create(instance.requestId, [instance])).rejects.toMatchObject(refused);
  expect(await store.get([instance.uuid])).toEqual([instance]);
});
