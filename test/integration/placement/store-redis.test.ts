import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { inventory } from '#libs/domain/inventory';
import { Mirror } from '#libs/placement/mirror/mirror';
import type { Change, PlacementStore } from '#libs/placement/port/placement-store';
import { RedisPlacementStore } from '#libs/placement/redis/placement-store';
import { connectRedis, RedisClient } from '#libs/redis/connect';
import { silentLog } from '#libs/runtime/log';
import { systemClock, systemRandom } from '#libs/runtime/system';
import {
  anAcquisition,
  aProvider,
  aReport,
  aWrite,
  claim,
  mustAcquire,
  mustCommit,
  mustReport,
} from '#libs/testing/placement/placement';
import { describePlacementStore } from '#libs/testing/placement/placement-store-contract';
import { claimWithin, setQuota } from '#libs/testing/placement/projects/placement-store-quotas';
import { sharedServer } from '../../shared-servers';

async function openStore(cell: string): Promise<RedisPlacementStore> {
  const options = { log: silentLog, random: systemRandom, commandTimeoutMs: 5_000, connectionName: 'test' };
  return new RedisPlacementStore(await connectRedis(sharedServer('redis'), options), { cell, streamLength: 10_000 });
}

describePlacementStore('redis', async () => {
  const cell = randomUUID();
  const opened = [await openStore(cell)];
  return {
    store: opened[0] as RedisPlacementStore,
    another: async () => {
      const store = await openStore(cell);
      opened.push(store);
      return store;
    },
    close: async () => {
      for (const store of opened) await store.close();
    },
  };
});

describe('on Redis', () => {
  const cell = randomUUID();
  const opened: PlacementStore[] = [];
  afterAll(async () => {
    for (const store of opened) await store.close();
  });

  async function open(): Promise<RedisPlacementStore> {
    const store = await openStore(cell);
    opened.push(store);
    return store;
  }

  it('notes reports of a tick that say nothing new in one run of a script', async () => {
    const store = await open();
    const hosts = ['host-1', 'host-2', 'host-3'];
    const grants = await store.acquireHosts(anAcquisition({ hosts }));
    const reports = hosts.map((host, n) => {
      const grant = grants[n];
      const epoch = grant?.kind === 'granted' ? grant.epoch : 0;
      return aReport({ host, epoch, providerUuid: `a0000000-0000-4000-8000-00000000000${n}` });
    });
    for (const report of reports) await mustReport(store, report);
    const runScript = jest.spyOn(RedisClient.prototype, 'runScript');
    const answers = await Promise.all(reports.map((report) => store.reportHost({ ...report, sequence: 2 })));
    expect(answers).toEqual([1, 2, 3].map(() => ({ kind: 'unchanged' })));
    expect(runScript.mock.calls.map(([script]) => script.name)).toEqual(['heartbeat']);
    runScript.mockRestore();
  });

  it('gives a host to the next run a lease after its clock was set back, not an hour later', async () => {
    const store = await open();
    const [hosts, leaseMs] = [['host-of-later'], 200];
    await mustAcquire(store, { hosts, leaseMs });
    const redis = new Redis(sharedServer('redis'));
    const key = `{${cell}}:host-holders`;
    const row = (await redis.hget(key, 'host-of-later')) ?? '';
    // As it was written an hour ahead.
    const later = row.replace(/^(\d+) (\d+)/, (_, epoch, untilMs) => `${epoch} ${Number(untilMs) + 3_600_000}`);
    expect(await redis.hset(key, 'host-of-later', later)).toBe(0);
    redis.disconnect();
    const next = anAcquisition({ hosts, agentRun: 'run-2' });
    const [taken] = await store.acquireHosts(next);
    expect(taken).toMatchObject({ kind: 'taken', leftMs: leaseMs });
    let grant = taken;
    while (grant?.kind === 'taken' && grant.leftMs <= leaseMs) [grant] = await store.acquireHosts(next);
    expect(grant).toMatchObject({ kind: 'granted' });
  });

  it('lets a project claim what its cohort gave back, when the mirror does not show it yet', async () => {
    const store = await open();
    const host = await aProvider(store, { VCPU: inventory(100) });
    for (const projectId of ['a', 'b']) await setQuota(store, projectId, { limits: { VCPU: 4 }, cohort: 'cohort' });
    const held = aWrite({ [host]: { VCPU: 8 } }, { projectId: 'a' });
    expect(await claimWithin(store, held)).toMatchObject({ kind: 'committed' });
    // Opening it makes the store use it, and nothing follows once it is closed.
    await (await Mirror.open(store, { clock: systemClock(), random: systemRandom, log: silentLog })).close();
    await mustCommit(store, { kind: 'write_allocations', consumers: [{ ...held, allocations: {} }] });
    const wanted = aWrite({ [host]: { VCPU: 4 } }, { projectId: 'b' });
    expect(await claimWithin(store, wanted)).toMatchObject({ kind: 'committed' });
  });

  it('ends a claim that conflicts for ever, after pauses', async () => {
    const store = await open();
    const host = await aProvider(store, { VCPU: inventory(100) });
    const runScript = jest.spyOn(RedisClient.prototype, 'runScript').mockResolvedValue(['', '', [], [1, '']]);
    const pause = jest.spyOn(RedisClient.prototype, 'pause').mockResolvedValue();
    await expect(claim(store, aWrite({ [host]: { VCPU: 1 } }))).rejects.toMatchObject({ reason: 'contention' });
    expect(runScript.mock.calls.length).toBeLessThan(100);
    // A second try is the rule where a mirror was out of date.
    expect(pause).toHaveBeenCalledTimes(runScript.mock.calls.length - 2);
    runScript.mockRestore();
    pause.mockRestore();
  });

  it('gives a follower the changes that its own process committed as they were answered, and the same to others', async () => {
    const [store, other] = [await open(), await open()];
    const host = await aProvider(store);
    const from = await store.revision();
    const abort = new AbortController();
    const following = [store, other].map((one) => firstChange(one, from, abort.signal));
    const result = await claim(store, aWrite({ [host]: { VCPU: 1 } }));
    const [own, others] = await Promise.all(following);
    if (result.kind !== 'committed') throw new Error('not committed');
    expect(own).toBe(result.change);
    expect(others).toEqual(result.change);
    abort.abort();
  });
});

function firstChange(store: PlacementStore, from: number, signal: AbortSignal): Promise<Change | undefined> {
  return new Promise((resolve, reject) => {
    store.follow(from, ([first]) => resolve(first), signal).catch(reject);
  });
}
