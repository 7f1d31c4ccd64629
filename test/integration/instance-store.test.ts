import { randomUUID } from 'node:crypto';
import { setTimeout as pass } from 'node:timers/promises';
import { redisInstanceStore } from '#libs/instances/redis/instance-store';
import { redisLeaseStore } from '#libs/instances/redis/lease-store';
import { connectRedis, type RedisClient } from '#libs/redis/connect';
import { silentLog } from '#libs/runtime/log';
import { describeInstanceStore } from '#libs/testing/instance-store-contract';
import { describeLeaseStore } from '#libs/testing/lease-contract';
import { sharedServer } from '../shared-servers';

/** Each test has a cell of its own on the run's Redis. */
const connect = () =>
  connectRedis(sharedServer('redis'), {
    log: silentLog,
    commandTimeoutMs: 5_000,
    connectionName: 'instance-store-test',
  });

describeInstanceStore('redis', async () => redisInstanceStore(await connect(), randomUUID()));

describe('on one connection', () => {
  let client: RedisClient;

  beforeAll(async () => {
    client = await connect();
  });

  afterAll(() => client.close());

  describeLeaseStore('redis', async () => ({
    store: redisLeaseStore(client, randomUUID()),
    pass: (durationMs) => pass(durationMs),
  }));
});
