import { randomUUID } from 'node:crypto';
import { setTimeout as pass } from 'node:timers/promises';
import type { Instance } from '#libs/domain/instance';
import { redisFlavorStore } from '#libs/instances/redis/flavor-store';
import { redisInstanceStore } from '#libs/instances/redis/instance-store';
import { redisLeaseStore } from '#libs/instances/redis/lease-store';
import type { InstanceStore } from '#libs/instances/store';
import { RedisPlacementStore } from '#libs/placement/redis/placement-store';
import { connectRedis, type RedisClient } from '#libs/redis/connect';
import { silentLog } from '#libs/runtime/log';
import { systemRandom } from '#libs/runtime/system';
import { describeDoubtStore } from '#libs/testing/instances/doubt-contract';
import { describeFence } from '#libs/testing/instances/fence-contract';
import { describeFlavorStore } from '#libs/testing/instances/flavor-contract';
import { anInstance, nextVersion } from '#libs/testing/instances/instance';
import { describeInstanceStore } from '#libs/testing/instances/instance-store-contract';
import { describeLeaseStore } from '#libs/testing/instances/lease-contract';
import { describeOutbox } from '#libs/testing/instances/outbox-contract';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';
import { sharedServer } from '../../shared-servers';

/** Each test has its own cell on the run's Redis. */
const connect = (url = sharedServer('redis')) =>
  connectRedis(url, {
    log: silentLog,
    random: systemRandom,
    commandTimeoutMs: 5_000,
    connectionName: 'instance-store-test',
  });

describeInstanceStore('redis', async () => redisInstanceStore(await connect(), randomUUID()));

describeDoubtStore('redis', async () => redisInstanceStore(await connect(), randomUUID()));

describeOutbox('redis', async (maxOutbox) => ({
  store: redisInstanceStore(await connect(), randomUUID(), maxOutbox),
  pass: (durationMs) => pass(durationMs),
}));

describeFence('redis', async () => {
  const cell = randomUUID();
  const store = redisInstanceStore(await connect(), cell);
  const placement = new RedisPlacementStore(await connect(), { cell, streamLength: 1_000 });
  return { store, placement, nowMs: () => 0, pass: (durationMs) => pass(durationMs) };
});

describe('what it costs', () => {
  let server: TestServer;
  let client: RedisClient;
  let observer: RedisClient;
  let store: InstanceStore;

  beforeAll(async () => {
    server = await startRedis();
    [client, observer] = await Promise.all([connect(server.url), connect(server.url)]);
  });

  beforeEach(() => {
    store = redisInstanceStore(client, randomUUID());
  });

  afterAll(async () => {
    await Promise.all([client.close(), observer.close()]);
    await server.stop();
  });

  const commandCalls = async () => {
    const stats = await observer.run((redis) => redis.info('commandstats'));
    const callsOf = (command: string) => Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
    const writes = callsOf('evalsha') + callsOf('eval');
    return { writes, reads: callsOf('hmget'), records: callsOf('hget'), ranges: callsOf('zrangebylex') };
  };

  /** The number of commands for `count` creates of one turn, and then for as many reads. */
  const costOf = async (count: number) => {
    const news = Array.from({ length: count }, () => anInstance());
    const before = await commandCalls();
    await Promise.all(news.map((one) => store.create(one.requestId, [one])));
    await Promise.all(news.map((one) => store.get([one.uuid])));
    const after = await commandCalls();
    return { writes: after.writes - before.writes, reads: after.reads - before.reads };
  };

  it('is for a host what is on it, and for the names of all hosts one look each', async () => {
    const requestId = randomUUID();
    const hostOf = (n: number) => (n < 7 ? 'h1' : n < 60 ? 'h2' : `h3-${n % 5}`);
    await store.create(
      requestId,
      Array.from({ length: 300 }, (_, n) => anInstance({ requestId, host: hostOf(n) })),
    );
    const start = await commandCalls();
    expect(await store.list({ host: 'h1' }, undefined, 100)).toHaveLength(7);
    const listed = await commandCalls();
    expect([listed.records - start.records, listed.ranges - start.ranges]).toEqual([7, 1]);
    expect(await store.hosts('', 100)).toHaveLength(7);
    const named = await commandCalls();
    expect([named.records - listed.records, named.ranges - listed.ranges]).toEqual([0, 8]);
  });

  it('is of what travels together one run of the script for the writes of a turn, and one command for its reads', async () => {
    expect(await costOf(50)).toEqual({ writes: 1, reads: 1 });
  });

  it('is bounded for what travels together', async () => {
    expect(await costOf(1_000)).toEqual({ writes: 8, reads: 2 });
  });

  it('is for a thousand instances of a request one large spec, sent and kept once', async () => {
    const requestId = randomUUID();
    const cell = randomUUID();
    const [writer, reader] = [redisInstanceStore(client, cell), redisInstanceStore(client, cell)];
    const requestSpec = new Uint8Array(250_000).fill(7);
    const many = Array.from({ length: 1_000 }, () => anInstance({ requestId, requestSpec, dueAtMs: 1 }));
    const figure = async (name: string) =>
      Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(await observer.run((redis) => redis.info()))?.[1]);
    const usedBytes = () => figure('used_memory');
    const [before, sent] = [await usedBytes(), await figure('total_net_input_bytes')];
    await writer.create(requestId, many);
    expect((await usedBytes()) - before).toBeLessThan(3_000_000);
    expect((await figure('total_net_input_bytes')) - sent).toBeLessThan(3_000_000);
    const read = await reader.get(many.map(({ uuid }) => uuid));
    const withoutSpec = (instances: readonly Instance[]) => instances.map((one) => ({ ...one, requestSpec: 0 }));
    expect(withoutSpec(read)).toEqual(withoutSpec(many));
    expect([...new Set(read.map((one) => one.requestSpec))].map((one) => Buffer.compare(one, requestSpec))).toEqual([
      0,
    ]);
    await Promise.all(read.map((one) => reader.update(nextVersion(one, { state: 'deleted', dueAtMs: undefined }))));
    expect((await usedBytes()) - before).toBeLessThan(5_000_000);
    await Promise.all(many.map(({ uuid }) => reader.markPublished(uuid, 2)));
    expect(await reader.forget((many[0]?.updatedAtMs ?? 0) + 1, 2_000)).toBe(1_000);
    expect(await observer.run((redis) => redis.keys(`{${cell}}*`))).toEqual([`{${cell}}:instances:forgotten`]);
  });

  it('is of unknown outcome when the connection breaks meanwhile, and is not sent again', async () => {
    const news = Array.from({ length: 300 }, () => anInstance());
    const id = await client.run((redis) => redis.client('ID'));
    await observer.run((redis) => redis.call('CLIENT', 'PAUSE', '60000', 'WRITE'));
    const begun = Promise.allSettled([
      ...news.map((one) => store.create(one.requestId, [one])),
      ...news.map((one) => store.update({ ...one, version: 2 })),
      ...news.map((one) => store.get([one.uuid])),
    ]);
    await pass(50);
    await observer.run((redis) => redis.call('CLIENT', 'KILL', 'ID', String(id)));
    for (const one of await begun) {
      expect(one).toMatchObject({ status: 'rejected', reason: { code: 'unavailable', reason: 'outcome_unknown' } });
    }
    await observer.run((redis) => redis.call('CLIENT', 'UNPAUSE'));
    await client.ready();
    expect(await store.list({}, undefined, 1_000)).toEqual([]);
    const again = await Promise.all(news.map((one) => store.create(one.requestId, [one])));
    expect(again.every(({ created }) => created)).toBe(true);
  });
});

describe('on one connection', () => {
  let client: RedisClient;

  beforeAll(async () => {
    client = await connect();
  });

  afterAll(() => client.close());

  it('leaves nothing behind of what it forgets, but one time', async () => {
    const cell = randomUUID();
    const store = redisInstanceStore(client, cell);
    let instance = anInstance({ dueAtMs: 1 });
    await store.create(instance.requestId, [instance]);
    for (const change of [
      { state: 'building', host: 'h1', dueAtMs: 2 },
      { host: 'h2', dueAtMs: 3 },
      { state: 'active', dueAtMs: undefined },
      { state: 'error', host: undefined },
      { state: 'deleting', host: 'h3', dueAtMs: 4 },
      { state: 'deleted', dueAtMs: undefined },
    ] as const) {
      instance = nextVersion(instance, change);
      await store.update(instance);
    }
    await store.markPublished(instance.uuid, instance.version);
    expect(await store.forget(instance.updatedAtMs + 1, 10)).toBe(1);
    expect(await client.run((redis) => redis.keys(`{${cell}}*`))).toEqual([`{${cell}}:instances:forgotten`]);
  });

  describeFlavorStore('redis', async (maxFlavors) => redisFlavorStore(client, randomUUID(), maxFlavors));

  describeLeaseStore('redis', async () => ({
    store: redisLeaseStore(client, randomUUID()),
    pass: (durationMs) => pass(durationMs),
  }));
});
