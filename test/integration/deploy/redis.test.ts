import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pass } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { openInstanceStore } from '#libs/instances/open';
import type { InstanceStore, LeaseStore } from '#libs/instances/store';
import { Mirror } from '#libs/placement/mirror/mirror';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { anInstance } from '#libs/testing/instances/instance';
import { describeInstanceStore } from '#libs/testing/instances/instance-store-contract';
import { describeLeaseStore } from '#libs/testing/instances/lease-contract';
import { aReport, mustReport } from '#libs/testing/placement/placement';
import { describePlacementStore } from '#libs/testing/placement/placement-store-contract';
import { type DeployedCredentials, deployedCredentials } from '#libs/testing/servers/credentials';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';

/* Redis as deploy/ configures it, with the users of deploy/credentials.mjs, on a server of the test's own. */

const DEPLOY = join(__dirname, '../../../deploy');
const around = () => ({ clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) });

let credentials: DeployedCredentials;
let server: TestServer;
let deployedKeys: readonly string[];

beforeAll(async () => {
  credentials = deployedCredentials(['cell.b.scheduler']);
  // Each user has the keys of its cell. The contract suites use a new cell for each test, so here users have the keys
  // of all cells.
  const acl = readFileSync(credentials.aclFile, 'utf8');
  deployedKeys = [...acl.matchAll(/^user (\S+) on #\w+ (\S+)/gm)].map(([, user, keys]) => `${user} ${keys}`);
  writeFileSync(credentials.aclFile, acl.replaceAll('~{cell1}:*', '~{*}:*'));
  server = await startRedis({
    shipped: { configFile: join(DEPLOY, 'redis/redis.conf'), aclFile: credentials.aclFile },
  });
});

afterAll(async () => {
  await server.stop();
  credentials.remove();
});

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
});

const config = (user: string, cell: string) =>
  readConfig(placementOptions, {
    BERTH_STORE_URL: `redis://${user}:${credentials.passwordOf(user)}@127.0.0.1:${server.port}`,
    BERTH_CELL: cell,
  });

async function openPlacement(user: string, cell: string): Promise<PlacementStore> {
  const store = await openPlacementStore(config(user, cell), { ...around(), onlyReads: user === 'console' });
  opened.push(store);
  return store;
}

async function openInstances(user: string, cell: string): Promise<InstanceStore & LeaseStore> {
  const store = await openInstanceStore(config(user, cell), { ...around(), onlyReads: user === 'console' });
  opened.push(store);
  return store;
}

describePlacementStore('deployed redis, as the scheduler', async () => {
  const cell = randomUUID();
  const another = () => openPlacement('scheduler', cell);
  return { store: await another(), another, close: async () => {} };
});

describeInstanceStore('deployed redis, as the conductor', () => openInstances('conductor', randomUUID()));

describeLeaseStore('deployed redis, as the conductor', async () => ({
  store: await openInstances('conductor', randomUUID()),
  pass: (durationMs) => pass(durationMs),
}));

describe('the console', () => {
  it('reads what services write, by the commands that only read', async () => {
    const cell = randomUUID();
    const [written, records] = [await openPlacement('scheduler', cell), await openInstances('conductor', cell)];
    await mustReport(written, aReport());
    const instance = anInstance();
    await records.create(instance.requestId, [instance]);
    const placement = await openPlacement('console', cell);
    const mirror = await Mirror.open(placement, { ...around(), random: systemRandom });
    opened.push(mirror);
    expect(mirror.host('host-1')).toMatchObject({ name: 'host-1' });
    const instances = await openInstances('console', cell);
    expect(await instances.get([instance.uuid])).toEqual([instance]);
    expect(await instances.list({}, undefined, 10)).toEqual([instance]);
    expect(await instances.list({ host: 'host-1' }, undefined, 10)).toEqual([]);
    expect([await instances.listDoubts(), await instances.countPending()]).toEqual([[], 0]);
    expect(await instances.countStates()).toEqual(new Map([['scheduling', 1]]));
    await mustReport(written, aReport({ host: 'host-2', providerUuid: randomUUID() }));
    for (let i = 0; i < 400 && mirror.host('host-2') === undefined; i++) await pass(10);
    expect(mirror.host('host-2')).toBeDefined();
  });

  it('writes nothing, by no command and no script', async () => {
    const client = new Redis(config('console', 'cell1').storeUrl);
    opened.push({ close: async () => client.disconnect() });
    const writes = [
      ['SET', '{cell1}:schema', '9'],
      ['DEL', '{cell1}:schema'],
      ['HSET', '{cell1}:host', 'a', 'b'],
      ['XADD', '{cell1}:changes', '*', 'a', 'b'],
      ['EVAL', "return redis.call('GET', KEYS[1])", '1', '{cell1}:schema'],
      ['EVAL_RO', "return redis.call('SET', KEYS[1], 'x')", '1', '{cell1}:schema'],
      ['SCRIPT', 'FLUSH'],
      ['MULTI'],
      ['PUBLISH', 'a', 'b'],
    ] as const;
    for (const [command, ...args] of writes)
      await expect(client.call(command, ...args)).rejects.toThrow(
        /NOPERM|not allowed from read-only|can't run this command/,
      );
    expect(await client.call('GET', '{cell1}:schema')).toBeNull();
  });

  it('is refused by its store when it writes', async () => {
    const instances = await openInstances('console', 'cell1');
    const instance = anInstance();
    await expect(instances.create(instance.requestId, [instance])).rejects.toMatchObject({ code: 'permission_denied' });
  });
});

it('has its data after a restart, and after it was killed', async () => {
  const cell = randomUUID();
  const store = await openInstances('conductor', cell);
  const instance = anInstance();
  await store.create(instance.requestId, [instance]);
  await server.restart();
  await server.kill('SIGKILL');
  await server.restart();
  const reopened = await openInstances('conductor', cell);
  expect(await reopened.get([instance.uuid])).toEqual([instance]);
});

it('gives each user the keys of its own cell only', () => {
  expect(deployedKeys).toEqual([
    'scheduler ~{cell1}:*',
    'conductor ~{cell1}:*',
    'placement ~{cell1}:*',
    'console %R~{cell1}:*',
    'cell.b.scheduler ~{b}:*',
  ]);
});

it.each(['', 'default:whatever@'])('lets nobody in who is no user of it (%p)', async (who) => {
  const stranger = readConfig(placementOptions, { BERTH_STORE_URL: `redis://${who}127.0.0.1:${server.port}` });
  await expect(openPlacementStore(stranger, around())).rejects.toMatchObject({ code: 'permission_denied' });
});

it("shows a user no keys but those of Berth's cells, and no command that harms the server", async () => {
  const client = new Redis(config('scheduler', 'cell1').storeUrl);
  const refused = [['GET', 'another key'], ['FLUSHALL'], ['CONFIG', 'GET', '*'], ['SHUTDOWN'], ['KEYS', '*']] as const;
  for (const [command, ...args] of refused) await expect(client.call(command, ...args)).rejects.toThrow('NOPERM');
  client.disconnect();
});
