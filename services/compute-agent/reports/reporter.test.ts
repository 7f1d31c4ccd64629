import { randomUUID } from 'node:crypto';
import { BerthError } from '#libs/domain/errors';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { AgentWorld } from '../testing/agent-world';

let world: AgentWorld;

beforeEach(() => {
  world = new AgentWorld();
});

afterEach(() => world.close());

const EVERY_10_S = { REPORT_INTERVAL_MS: '10000', REPORT_JITTER: '0.2', REPORT_MIN_INTERVAL_MS: '1000' };
const result = async (name: string) => {
  const line = `berth_agent_stats_total{result="${name}"} `;
  return Number(
    (await world.metrics.expose())
      .split('\n')
      .find((one) => one.startsWith(line))
      ?.slice(line.length) ?? 0,
  );
};

it('reports what the host has, its instances and its external usage', async () => {
  await world.startAll({
    ...EVERY_10_S,
    INVENTORY: 'VCPU=8*4,MEMORY_MB=16384-512,CUSTOM_GOLD=1',
    TRAITS: 'HW_CPU_X86_AVX2,CUSTOM_SSD',
    CAPABILITIES: 'hw_architecture=x86_64/i686',
    FAKE_EXTERNAL: 'VCPU=99,MEMORY_MB=100,UNKNOWN=3',
  });
  const instanceUuid = randomUUID();
  const group = { id: 'group-1', policy: 'affinity', maxPerHost: 1 } as const;
  await world.build({
    instanceUuid,
    name: 'db',
    requestSpec: aRequestSpec({ resources: { MEMORY_MB: 1_024 }, group }),
  });
  await world.clock.advance(12_000);
  const stats = world.stats.items.at(-1);
  expect(stats).toMatchObject({
    host: 'h1',
    sender: 'compute-agent.h1',
    cell: 'cell1',
    traits: ['HW_CPU_X86_AVX2', 'CUSTOM_SSD'],
    capabilities: { hw_architecture: ['x86_64', 'i686'] },
    aggregates: undefined,
    externalUsage: { VCPU: 8, MEMORY_MB: 100 },
    externalInstances: 1,
    ioOps: 0,
  });
  expect(stats?.inventories['VCPU']).toMatchObject({ total: 8, reserved: 0, allocationRatio: 4 });
  expect(stats?.inventories['MEMORY_MB']).toMatchObject({ total: 16_384, reserved: 512 });
  expect(stats?.instances).toMatchObject([{ instanceUuid, name: 'db', groupId: 'group-1', running: true }]);
  expect(stats?.providerUuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

it('tells what an operator wished for the host, as the last answer said', async () => {
  await world.startAll(EVERY_10_S);
  const lastOf = async () => {
    await world.clock.advance(12_000);
    return world.stats.items.at(-1)?.disabled;
  };
  world.disabled = { reason: '' };
  await lastOf();
  expect(await lastOf()).toEqual({ reason: '' });
  world.disabled = undefined;
  await lastOf();
  expect(await lastOf()).toBeUndefined();
});

it('counts builds in progress', async () => {
  await world.startAll({ ...EVERY_10_S, FAKE_LATENCY_MS: '60000' });
  await world.build();
  await world.build();
  await world.clock.advance(1_100);
  expect(world.stats.items.at(-1)).toMatchObject({ ioOps: 2, instances: [{ running: false }, { running: false }] });
});

it.each([-3_600_000, 3_600_000])('reports no less and no more when the clock is set by %i ms', async (byMs) => {
  await world.startAll(EVERY_10_S);
  await world.clock.advance(60_000);
  const before = world.stats.items.length;
  world.clock.jump(byMs);
  await world.clock.advance(60_000);
  expect(Math.abs(world.stats.items.length - before - 6)).toBeLessThanOrEqual(2);
});

it('reports periodically, each time a little earlier or later, with a rising sequence', async () => {
  await world.startAll(EVERY_10_S);
  await world.clock.advance(300_000);
  const { items } = world.stats;
  expect(items.map(({ sequence }) => sequence)).toEqual(items.map((_, n) => n + 1));
  expect(new Set(items.map(({ agentRun }) => agentRun)).size).toBe(1);
  const gaps = items.slice(2).map(({ atMs }, n) => atMs - (items[n + 1]?.atMs ?? 0));
  for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(8_000);
  for (const gap of gaps) expect(gap).toBeLessThanOrEqual(12_100);
  expect(new Set(gaps).size).toBeGreaterThan(5);
});

it('reports no later than its interval when it was asked for allocation requests', async () => {
  await world.startAll({ ...EVERY_10_S, REPORT_MIN_INTERVAL_MS: '60000' });
  await world.clock.advance(12_000);
  world.wantsAllocationRequests = true;
  await world.clock.advance(12_000);
  const before = world.stats.items.length;
  await world.clock.advance(12_000);
  expect(world.stats.items.length).toBeGreaterThan(before);
});

it('sends changes that come together as one report, and never more often than the least interval', async () => {
  await world.startAll({ ...EVERY_10_S, FAKE_LATENCY_MS: '60000' });
  await world.clock.advance(5_000);
  const before = world.stats.items.length;
  for (let n = 0; n < 20; n++) await world.build();
  await world.settle();
  await world.clock.advance(1_000);
  const after = world.stats.items.slice(before);
  expect(after).toHaveLength(1);
  expect(after[0]?.instances).toHaveLength(20);
  for (let n = 0; n < 100; n++) {
    await world.build();
    await world.clock.advance(100);
  }
  expect(world.stats.items.length - before).toBeLessThanOrEqual(12);
});

it('reports ahead of its time when something else on the host takes or leaves room, and only then', async () => {
  await world.startAll({ ...EVERY_10_S, REPORT_INTERVAL_MS: '3600000', LOOK_INTERVAL_MS: '2000' });
  const before = world.stats.items.length;
  await world.clock.advance(10_000);
  expect(world.stats.items.length).toBe(before);
  for (const external of [{ VCPU: 3 }, {}]) {
    world.driver?.setExternal(external);
    await world.clock.advance(2_500);
    expect(world.stats.items.at(-1)).toMatchObject({ externalUsage: external });
  }
  expect(world.stats.items.length).toBe(before + 2);
});

it('does not report ahead of its time for builds that are over by then', async () => {
  await world.startAll({ ...EVERY_10_S, FAKE_LATENCY_MS: '0' });
  await world.clock.advance(12_000);
  const before = world.stats.items.length;
  for (let n = 0; n < 20; n++) {
    await world.build();
    await world.clock.advance(1_000);
  }
  expect(world.stats.items.length - before).toBeLessThanOrEqual(3);
});

it('reports the same provider and a new run after a restart', async () => {
  const first = await world.startAll(EVERY_10_S);
  await world.stats.has(1);
  const closing = first.close();
  await world.clock.advance(1_000);
  await closing;
  await world.start(EVERY_10_S);
  const [before, after] = [world.stats.items[0], world.stats.items.at(-1)];
  expect(after?.providerUuid).toBe(before?.providerUuid);
  expect(after?.sequence).toBe(1);
});

describe('while no scheduler answers reports', () => {
  it('takes orders all the same, and reports once one does', async () => {
    world.onStats = async () => {
      throw new BerthError('unavailable', 'store_away', 'not now');
    };
    const agent = await world.startAll(EVERY_10_S);
    expect(agent.readiness()).toEqual({ ready: true });
    await world.build();
    await world.results.has(1);
    await world.clock.advance(60_000);
    expect(await result('unavailable')).toBeGreaterThan(5);
    world.onStats = async () => {};
    await world.clock.advance(6_000);
    expect(world.stats.items.at(-1)?.instances).toHaveLength(1);
    expect(await result('accepted')).toBeGreaterThan(0);
  });

  it('retries with backoff, up to the longest pause', async () => {
    await world.takeResults();
    world.onStats = async () => {
      tries.push(world.clock.now());
      throw new BerthError('unavailable', 'store_away', 'not now');
    };
    const tries: number[] = [];
    await world.serveStats();
    await world.start({ ...EVERY_10_S, REPORT_JITTER: '0', RETRY_MAX_MS: '2000' });
    await world.clock.advance(20_000);
    const gaps = tries.slice(1).map((atMs, n) => atMs - (tries[n] ?? 0));
    // Between half and all of a doubling pause, plus at most a tick of the timer.
    expect(gaps.slice(0, 5).every((gap, n) => gap >= 50 * 2 ** n && gap <= 100 * 2 ** n + 200)).toBe(true);
    expect(Math.max(...gaps)).toBeGreaterThanOrEqual(1_000);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(2_200);
    expect(tries.length).toBeGreaterThan(12);
  });

  it('goes on without an answer after a time', async () => {
    await world.takeResults();
    world.onStats = () => new Promise(() => {});
    await world.serveStats();
    const starting = world.start({ ...EVERY_10_S, REPORT_TIMEOUT_MS: '3000' });
    await world.clock.advance(3_100);
    expect((await starting).readiness()).toEqual({ ready: true });
  });
});

it('counts a rejected report and goes on at its pace', async () => {
  world.onStats = async () => {
    throw new BerthError('invalid_argument', 'unknown_class', 'what is UNKNOWN?');
  };
  await world.startAll(EVERY_10_S);
  await world.clock.advance(60_000);
  const rejected = await result('rejected');
  expect(rejected).toBeGreaterThanOrEqual(5);
  expect(rejected).toBeLessThanOrEqual(9);
  world.onStats = async () => {};
  await world.clock.advance(12_100);
  expect(world.stats.items.length).toBeGreaterThan(0);
});

it('reports once more when it stops', async () => {
  const agent = await world.startAll(EVERY_10_S);
  await world.build();
  await world.results.has(1);
  const before = world.stats.items.length;
  const closing = agent.close();
  await world.clock.advance(100);
  await closing;
  expect(world.stats.items.length).toBe(before + 1);
  expect(world.stats.items.at(-1)?.instances).toHaveLength(1);
});

it('carries a thousand hosts with one timer between reports, spread over the interval', async () => {
  await world.startAll({ ...EVERY_10_S, HOSTS: '1000', TRAITS: 'CUSTOM_A|CUSTOM_B|' });
  expect(world.stats.items).toHaveLength(1_000);
  expect(new Set(world.stats.items.map(({ providerUuid }) => providerUuid)).size).toBe(1_000);
  const byHost = new Map(world.stats.items.map((stats) => [stats.host, stats]));
  expect(byHost.get('h1-0001')).toMatchObject({ traits: ['CUSTOM_A'] });
  expect(byHost.get('h1-0002')).toMatchObject({ traits: ['CUSTOM_B'] });
  expect(byHost.get('h1-1000')).toMatchObject({ traits: ['CUSTOM_A'] });
  expect(world.clock.pending).toBeLessThan(5);
  await world.clock.advance(10_100);
  const perSecond = new Map<number, number>();
  for (const { atMs } of world.stats.items.slice(1_000)) {
    const second = Math.floor(atMs / 1_000);
    perSecond.set(second, (perSecond.get(second) ?? 0) + 1);
  }
  expect(world.stats.items.length).toBeGreaterThanOrEqual(2_000);
  expect(Math.max(...perSecond.values())).toBeLessThan(200);
}, 20_000);
