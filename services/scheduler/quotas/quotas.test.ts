import { MemoryBroker } from '#libs/bus/memory/broker';
import { openBus } from '#libs/bus/open';
import { Client } from '#libs/client/client';
import { seededRandom } from '#libs/domain/random';
import { settleProjects } from '#libs/fleet-settings/settle-projects';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { Mirror } from '#libs/placement/mirror/mirror';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { fakeClock } from '#libs/testing/fake-clock';
import { aProvider, aWrite, commit, mustCommit } from '#libs/testing/placement/placement';
import { schedulerOptions } from '../options';
import { startScheduler } from '../start';

const DAY_MS = 86_400_000;

let cell: Awaited<ReturnType<typeof aCell>>;
beforeEach(async () => {
  cell = await aCell();
});
afterEach(() => cell.close());

/** A scheduler on a bus, an operator and a tenant. */
async function aCell() {
  const clock = fakeClock();
  const random = seededRandom(3);
  const around = () => ({ clock, random, log: silentLog, metrics: createMetrics({}) });
  const broker = new MemoryBroker(clock, silentLog);
  const placement = new MemoryPlacementStore();
  const mirror = await Mirror.open(placement, around());
  const config = { ...readConfig(schedulerOptions, {}), usageIntervalMs: DAY_MS * 1_000, fairShareHalfLifeMs: DAY_MS };
  const bus = await openBus({ busUrl: 'memory:' }, around(), broker);
  const scheduler = await startScheduler({ ...around(), bus, placement, mirror, config });
  const client = async (busUrl: string, projectId?: string) =>
    new Client(await openBus({ busUrl }, around(), broker), {
      clock,
      random,
      timeoutMs: 5_000,
      retryForMs: 0,
      projectId,
    });
  const operator = await client('memory:');
  const tenant = await client('memory://project.demo@broker', 'demo');
  const provider = await aProvider(placement);
  return {
    clock,
    placement,
    mirror,
    operator,
    tenant,
    provider,
    settle: () => settleProjects({ placement, mirror, clock, random, log: silentLog, config }),
    async close() {
      await Promise.all([operator.close(), tenant.close()]);
      await scheduler.close();
      await mirror.close();
      await bus.close();
    },
  };
}

async function hold(projectId: string, vcpu: number): Promise<void> {
  const { placement, provider, clock, mirror } = cell;
  const consumers = [aWrite({ [provider]: { VCPU: vcpu } }, { projectId })];
  mirror.apply(await mustCommit(placement, { kind: 'write_allocations', consumers, atMs: clock.now() }));
}

it('sets, shows and takes away limits of projects and the default', async () => {
  const { operator } = cell;
  await hold('demo', 2);
  await operator.setQuota(undefined, { limits: { VCPU: 20, instances: 5 } });
  const set = await operator.setQuota('demo', { limits: { VCPU: 4 }, cohort: 'lab', borrowLimits: { VCPU: 2 } });
  expect(set).toMatchObject({ limits: { VCPU: 4 }, cohort: 'lab', used: { VCPU: 2, instances: 1 } });
  expect(await operator.setQuota('demo', { limits: { DISK_GB: 9 } })).toMatchObject({
    limits: { VCPU: 4, DISK_GB: 9 },
    cohort: 'lab',
  });
  expect(await operator.quotas()).toMatchObject([{ projectId: 'demo', borrowLimits: { VCPU: 2 } }]);
  expect(await operator.defaultLimits()).toEqual({ VCPU: 20, instances: 5 });
  expect(await operator.unsetQuota('demo', ['VCPU'])).toMatchObject({ limits: { DISK_GB: 9 }, borrowLimits: {} });
  expect(await operator.unsetQuota('demo')).toMatchObject({ version: 0, limits: {}, cohort: '' });
  await operator.unsetQuota(undefined);
  expect(await operator.defaultLimits()).toEqual({});
});

it('refuses a change of another version, and what makes no sense', async () => {
  const { operator } = cell;
  const { version } = await operator.setQuota('demo', { limits: { VCPU: 4 } });
  await operator.setQuota('demo', { limits: { VCPU: 5 }, version });
  await expect(operator.setQuota('demo', { limits: { VCPU: 6 }, version })).rejects.toMatchObject({
    code: 'aborted',
    reason: 'quota_changed',
  });
  for (const [change, reason] of [
    [{ limits: { vcpu: 1 } }, 'malformed_name'],
    [{ limits: { VCPU: -2 } }, 'bad_amount'],
    [{ borrowLimits: { VCPU: -1 } }, 'bad_amount'],
    [{ borrowLimits: { VCPU: 1 } }, 'not_in_cohort'],
  ] as const) {
    await expect(operator.setQuota('demo', change)).rejects.toMatchObject({ reason });
  }
});

it("shows a tenant its own project's, and lets it change nothing", async () => {
  const { operator, tenant } = cell;
  await operator.setQuota('demo', { limits: { VCPU: 4 } });
  await operator.setQuota('other', { limits: { VCPU: 4 } });
  expect(await tenant.quotas()).toMatchObject([{ projectId: 'demo' }]);
  await expect(tenant.quotas('other')).rejects.toMatchObject({ reason: 'wrong_project' });
  await expect(tenant.usage(0, 'other')).rejects.toMatchObject({ reason: 'wrong_project' });
  await expect(tenant.setQuota('demo', { limits: { VCPU: 99 } })).rejects.toMatchObject({ reason: 'services_only' });
  await expect(tenant.unsetQuota('demo')).rejects.toMatchObject({ reason: 'services_only' });
});

it('tells what projects held on each day, up to now, settled or not', async () => {
  const { operator, tenant, clock } = cell;
  const startMs = clock.now();
  const dayEndsMs = (Math.floor(startMs / DAY_MS) + 1) * DAY_MS;
  await hold('demo', 2);
  await hold('other', 1);
  await clock.advance(dayEndsMs - startMs + 10_000);
  const expected = [
    { unitSeconds: { VCPU: (2 * (dayEndsMs - startMs)) / 1_000, instances: (dayEndsMs - startMs) / 1_000 } },
    { unitSeconds: { VCPU: 20, instances: 10 } },
  ];
  expect(await tenant.usage(startMs)).toMatchObject([{ projectId: 'demo', days: expected }]);
  await cell.settle();
  await cell.settle();
  expect(await tenant.usage(startMs)).toMatchObject([{ projectId: 'demo', days: expected }]);
  expect(await operator.usage(clock.now())).toMatchObject([
    { projectId: 'demo', days: [expected[1]] },
    { projectId: 'other', days: [{ unitSeconds: { VCPU: 10 } }] },
  ]);
});

it('corrects a count that is not what the consumers hold, and no other', async () => {
  const { placement, clock } = cell;
  await hold('demo', 2);
  const [row] = await placement.projectUsages();
  const wrong = { used: { VCPU: 7 }, revision: row?.revision ?? 0 };
  await commit(placement, {
    kind: 'settle_project',
    projectId: 'demo',
    keepDays: 1,
    correction: wrong,
    atMs: clock.now(),
  });
  await cell.mirror.waitFor(await placement.revision(), { timeoutMs: 1_000 });
  await cell.settle();
  const corrected = await placement.projectUsages();
  expect(corrected).toMatchObject([{ used: { VCPU: 2, instances: 1 } }]);
  await cell.settle();
  expect(await placement.projectUsages()).toEqual(corrected);
});

it('shows what projects use and used lately for their weights, to a tenant its own', async () => {
  const { operator, tenant, clock } = cell;
  await hold('demo', 2);
  await hold('other', 4);
  await operator.setQuota('other', { limits: { weight: 8 } });
  await operator.setQuota('idle', { limits: { VCPU: 1 } });
  await clock.advance(3_000);
  const { halfLifeMs, shares } = await operator.fairShares();
  expect(halfLifeMs).toBe(DAY_MS);
  expect(shares.map(({ projectId, weight, rank }) => [projectId, weight, rank])).toEqual([
    ['demo', 1, 3],
    ['idle', 1, 1],
    ['other', 8, 2],
  ]);
  expect(shares[2]).toMatchObject({ now: 0.4, nowClass: 'VCPU' });
  expect((await tenant.fairShares()).shares.map(({ projectId }) => projectId)).toEqual(['demo']);
  await expect(tenant.fairShares('other')).rejects.toMatchObject({ reason: 'wrong_project' });
  await expect(operator.setQuota('other', { limits: { weight: 0 } })).rejects.toMatchObject({ reason: 'bad_amount' });
  const spec = { projectId: 'demo', userId: 'u', resources: { VCPU: 1 } };
  expect((await tenant.explain(spec)).fairShare).toMatchObject({ projectId: 'demo', now: 0.2, rank: 3 });
});
