import { drainHost } from '#libs/client/drain/drain-host';
import { carryOut } from '#libs/client/rebalance/carry-out';
import { claimPlan } from '#libs/client/rebalance/claim-plan';
import { findPlan } from '#libs/client/rebalance/find-plan';
import { fleetOf } from '#libs/client/rebalance/plan';
import { sleep } from '#libs/domain/clock';
import { build, clock, LIMIT, rehearsals, SPEC, startFleet } from '../testing/rehearsing';
import type { EmbeddedFleet } from './fleet';

/* Changes of settings and of several hosts are rehearsed, then done: what was predicted is what happens. */

jest.setTimeout(240_000);
const SEEDS = { seeds: [1, 2, 3] };
const MOVES = { parallel: 4, timeoutMs: 60_000 };
const parts = () => ({ client: fleet.client, clock, signal: new AbortController().signal, onProgress() {} });

let fleet: EmbeddedFleet;
afterEach(() => fleet.close());

const exactly = (count: number) => ({ least: count, most: count });
const countOn = async (host: string) => (await fleet.client.instances({ host })).length;

it('tells what moves while hosts are upgraded one by one, and which instance holds one up', async () => {
  fleet = await startFleet({ hosts: 2, latencyMs: 50 });
  const group = { id: 'pair', policy: 'anti-affinity', maxPerHost: 1 } as const;
  await build(fleet, 6);
  const [first, second] = [await countOn('host-1'), await countOn('host-2')];
  const hosts = ['host-1', 'host-2'];
  const operation = { kind: 'upgrade', hosts, stoppedMs: 2_000, ...MOVES } as const;
  const { metrics, after } = await rehearsals(fleet, operation, SEEDS);
  const moves: number[] = [];
  for (const host of hosts) {
    const drained = await drainHost(parts(), { host, reason: 'upgraded', ...MOVES });
    expect(drained.filter(({ stays }) => stays !== undefined)).toEqual([]);
    moves.push(drained.length);
    await fleet.machines.get(host)?.kill();
    await fleet.machines.get(host)?.revive();
    await fleet.client.setHostEnabled(host, true, '');
  }
  expect(moves).toEqual([first, first + second]);
  expect(metrics).toMatchObject({ moved: exactly(second), refused: exactly(0), broken: exactly(0) });
  expect(after.hosts).toBe(2);

  await build(fleet, 2, { group });
  const held = await rehearsals(fleet, operation, SEEDS);
  const [stays] = (await drainHost(parts(), { host: 'host-1', reason: 'upgraded', ...MOVES })).filter(
    (one) => one.stays,
  );
  expect(held.metrics.refused).toMatchObject(exactly(2));
  expect(held.refused.map(({ why }) => why)).toContain(stays?.stays);
});

it('tells what a rebalance moves', async () => {
  fleet = await startFleet({ hosts: 3, latencyMs: 50 });
  await build(fleet, 12);
  const goal = { kind: 'empty', hosts: ['host-1'] } as const;
  const there = await countOn('host-1');
  const { metrics } = await rehearsals(fleet, { kind: 'rebalance', goal, ...MOVES }, SEEDS);
  const [hosts, instances] = await Promise.all([fleet.client.hosts(), fleet.client.instances()]);
  const plan = await findPlan(fleet.client, 'live_migrate', fleetOf(hosts, instances), goal);
  if (plan.kind === 'impossible') throw new Error(plan.why);
  const moves = await claimPlan(fleet.client, { plan, operation: 'live_migrate', name: 'real' });
  const moved = await carryOut(parts(), moves, MOVES);
  expect(moved.map(({ outcome }) => outcome)).toEqual(Array(there).fill('moved'));
  expect(metrics).toMatchObject({ moved: exactly(there), refused: exactly(0), broken: exactly(0) });
});

it('tells that there is no plan, with the reason', async () => {
  fleet = await startFleet({ hosts: 2, shape: { VCPU: 4 }, latencyMs: 50 });
  await build(fleet, 6);
  const goal = { kind: 'empty', hosts: ['host-1'] } as const;
  const { metrics, refused } = await rehearsals(fleet, { kind: 'rebalance', goal, ...MOVES }, { seeds: [1] });
  expect(metrics).toMatchObject({ moved: exactly(0), refused: exactly(1) });
  expect(refused[0]?.why).toMatch(/finds no host/);
});

it('tells which of those that wait a larger quota lets in', async () => {
  fleet = await startFleet({ hosts: 2, shape: { VCPU: 4 }, latencyMs: 50 });
  await fleet.client.setQuota('project-1', { limits: { VCPU: 2 } });
  await build(fleet, 2);
  const admission = { waitForCapacityMs: 600_000 };
  const waiting = await fleet.client.build({ spec: SPEC, count: 1, admission });
  const others = await fleet.client.build({ spec: { ...SPEC, resources: { VCPU: 2 } }, count: 1, admission });
  const uuids = [...waiting.instanceUuids, ...others.instanceUuids];
  while ((await fleet.client.instances({ state: 'pending' })).length < uuids.length) await sleep(clock, 50);
  const change = { limits: { VCPU: 3 } };
  const { metrics } = await rehearsals(fleet, { kind: 'quota', projectId: 'project-1', change }, SEEDS);
  await fleet.client.setQuota('project-1', change);
  await fleet.client.wait(waiting.instanceUuids[0] ?? '', ['active'], LIMIT);
  expect((await fleet.client.instance(others.instanceUuids[0] ?? '')).state).toBe('pending');
  expect(metrics).toMatchObject({ built: exactly(1), broken: exactly(0), failed: exactly(0) });
});

it('tells how many of a flavor fit after it changes', async () => {
  fleet = await startFleet({ hosts: 3, shape: { VCPU: 4 }, latencyMs: 50 });
  const { client } = fleet;
  await client.createFlavor({ name: 'small', description: '', resources: { VCPU: 1 }, extraSpecs: {} });
  const spec = { projectId: 'project-1', userId: 'u', flavor: { name: 'small', version: 0 } };
  const change = { setExtraSpecs: { 'trait:HW_CPU_X86_AVX512F': 'required' }, unsetExtraSpecs: [] };
  const request = { spec, count: 2, name: 'more' };
  const operation = { kind: 'flavor', name: 'small', change, build: { request, ...LIMIT } } as const;
  const { metrics, refused } = await rehearsals(fleet, operation, SEEDS);
  await client.updateFlavor('small', change);
  const events = await client.buildAndWait(request, LIMIT);
  expect(events.map(({ state }) => state)).toEqual(['error', 'error']);
  expect(metrics).toMatchObject({ built: exactly(0), refused: exactly(2) });
  expect(new Set(refused.map(({ why }) => why))).toEqual(
    new Set(events.map(({ fault }) => `${fault?.reason}: ${fault?.message}`)),
  );
});

it.each(['broker', 'store'] as const)('comes to the same end when the %s is away', async (of) => {
  fleet = await startFleet({ hosts: 2, latencyMs: 50 });
  await build(fleet, 4);
  const { metrics } = await rehearsals(fleet, { kind: 'outage', of, forMs: 30_000 }, SEEDS);
  expect(metrics).toMatchObject({ moved: exactly(0), refused: exactly(0), broken: exactly(0), unfinished: exactly(0) });
  expect(metrics.seconds.least).toBeGreaterThanOrEqual(30);
});
