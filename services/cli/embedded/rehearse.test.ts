import type { BuildOptions, SpecFields } from '#libs/client/client';
import { drainHost } from '#libs/client/drain/drain-host';
import { sleep } from '#libs/domain/clock';
import { build as buildOn, clock, LIMIT, rehearsals, SPEC, startFleet } from '../testing/rehearsing';
import type { EmbeddedFleet, FleetSettings } from './fleet';

/* An operation is rehearsed, then done: what was predicted is what happens. */

const EVACUATION = { parallel: 4, timeoutMs: 60_000 };
jest.setTimeout(240_000);

let fleet: EmbeddedFleet;
afterEach(() => fleet.close());

async function start(fields: Partial<FleetSettings> = {}): Promise<void> {
  fleet = await startFleet(fields);
}

const build = (count: number, spec: Partial<SpecFields> = {}) => buildOn(fleet, count, spec);

async function drain(host: string, parallel: number) {
  const parts = { client: fleet.client, clock, signal: new AbortController().signal, onProgress() {} };
  const drained = await drainHost(parts, { host, reason: 'drained', parallel, timeoutMs: 60_000 });
  const stay = drained.filter(({ stays }) => stays !== undefined);
  return { moved: drained.length - stay.length, stay };
}

it('tells what a drain moves', async () => {
  await start();
  await build(30);
  const onHost = (await fleet.client.instances({ host: 'host-1' })).length;
  const { metrics } = await rehearsals(fleet, { kind: 'drain', hosts: ['host-1'], parallel: 1, timeoutMs: 60_000 });
  const { moved, stay } = await drain('host-1', 1);
  expect(metrics.moved).toMatchObject({ least: onHost, most: onHost });
  expect([moved, stay]).toEqual([onHost, []]);
  expect(metrics.refused.most).toBe(0);
  expect(metrics.broken.most).toBe(0);
});

it('does not wait for builds that were under way when the fleet was read', async () => {
  await start();
  await build(12);
  await fleet.client.build({ spec: SPEC, count: 6 });
  let snapshot = await fleet.snapshot();
  while (snapshot.instances.every(({ state }) => state === 'active')) snapshot = await fleet.snapshot();
  const operation = { kind: 'drain', hosts: ['host-1'], parallel: 4, timeoutMs: 60_000 } as const;
  const { metrics } = await rehearsals(fleet, operation, { snapshot, seeds: [1, 2, 3] });
  // Their deadline is half an hour.
  expect(metrics.seconds.most).toBeLessThan(60);
  expect([metrics.unfinished.most, metrics.broken.most]).toEqual([0, 0]);
});

it('tells which members of a group a drain can not move, with the reason that the drain then gives', async () => {
  await start({ hosts: 3 });
  const group = { id: 'quorum', policy: 'anti-affinity', maxPerHost: 1 } as const;
  const members = await build(3, { group });
  const others = await build(6);
  const { host } = await fleet.client.instance(members[0] ?? '');
  const { metrics, refused } = await rehearsals(fleet, {
    kind: 'drain',
    hosts: [host],
    parallel: 4,
    timeoutMs: 60_000,
  });
  const { stay, moved } = await drain(host, 4);
  expect(refused.map(({ uuid, why }) => [uuid, why])).toEqual(stay.map(({ uuid, stays }) => [uuid, stays]));
  expect(stay.map(({ uuid }) => uuid)).toEqual([members[0]]);
  expect(metrics.moved).toMatchObject({ least: moved, most: moved });
  expect(others.length).toBe(6);
});

it('tells what is evacuated from a host that dies, what finds no place, and how full the others are then', async () => {
  await start({ hosts: 3, shape: { VCPU: 8 } });
  const uuids = await build(18);
  const lost = (await fleet.client.instance(uuids[0] ?? '')).host;
  const there = await fleet.client.instances({ host: lost });
  const { metrics, refused, after } = await rehearsals(fleet, { kind: 'lose', hosts: [lost], evacuation: EVACUATION });
  await fleet.machines.get(lost)?.kill();
  const outcomes = await Promise.all(there.map(({ uuid }) => evacuate(uuid, lost)));
  const moved = outcomes.filter((fault) => fault === undefined).length;
  expect(moved).toBe(4);
  expect(metrics.moved).toMatchObject({ least: moved, most: moved });
  expect(metrics.refused).toMatchObject({ least: there.length - moved, most: there.length - moved });
  expect(new Set(refused.map(({ why }) => why.split(':')[0]))).toEqual(new Set(outcomes.filter(Boolean)));
  expect(after).toMatchObject({ hosts: 2, capacity: { VCPU: 16 }, used: { VCPU: 16 }, largestFree: { VCPU: 0 } });
  expect(metrics.broken.most).toBe(0);
});

it('tells whether so many more fit, all or a gang of some, and who gives way', async () => {
  await start({ hosts: 3, shape: { VCPU: 8 }, latencyMs: 50 });
  await build(18);
  await fleet.client.setQuota('project-1', { limits: { priority: 10 } });
  const requests: readonly BuildOptions[] = [
    { spec: SPEC, count: 10, name: 'all' },
    { spec: SPEC, count: 10, minCount: 4, name: 'gang' },
    { spec: SPEC, count: 2, name: 'more', admission: { priority: 10, waitForCapacityMs: 60_000, mayPreempt: true } },
  ];
  const predicted: unknown[] = [];
  const real: unknown[] = [];
  for (const request of requests) {
    const { metrics } = await rehearsals(fleet, { kind: 'build', request, timeoutMs: 60_000 }, { seeds: [1, 2, 3] });
    expect(metrics.broken.most).toBe(0);
    predicted.push([metrics.built, metrics.refused, metrics.preempted].map(({ least, most }) => [least, most]));
    const before = (await fleet.client.instances({ state: 'active' })).length;
    const events = await fleet.client.buildAndWait(request, LIMIT);
    const built = events.filter(({ state }) => state === 'active').length;
    const after = (await fleet.client.instances({ state: 'active' })).length;
    real.push([built, events.length - built, before + built - after].map((n) => [n, n]));
  }
  expect(predicted).toEqual(real);
  expect(real).toEqual([
    [
      [0, 0],
      [10, 10],
      [0, 0],
    ],
    [
      [6, 6],
      [4, 4],
      [0, 0],
    ],
    [
      [2, 2],
      [0, 0],
      [2, 2],
    ],
  ]);
});

it('tells what is left when hosts are drained, switched off and deleted', async () => {
  await start({ hosts: 4, latencyMs: 50 });
  await build(20);
  const operation = { kind: 'delete', hosts: ['host-1', 'host-2'], parallel: 4, timeoutMs: 60_000 } as const;
  const { metrics, after } = await rehearsals(fleet, operation, { seeds: [1, 2] });
  expect(metrics).toMatchObject({ moved: { least: 10, most: 10 }, broken: { most: 0 }, refused: { most: 0 } });
  expect(after).toMatchObject({ hosts: 2, capacity: { VCPU: 32 }, used: { VCPU: 20 } });
  for (const host of operation.hosts) await fleet.client.setHostEnabled(host, false, '');
  for (const host of operation.hosts) expect((await drain(host, 4)).stay).toEqual([]);
  for (const host of operation.hosts) await fleet.machines.get(host)?.kill();
  const isDeleted = (host: string) =>
    fleet.client.deleteHost(host).then(
      () => true,
      () => false,
    );
  for (const host of operation.hosts) while (!(await isDeleted(host))) await sleep(clock, 100);
  expect((await fleet.client.hosts()).map(({ host }) => host)).toEqual(['host-3', 'host-4']);
});

it('is the same with the same seed, and ends though processes and the store die meanwhile', async () => {
  await start({ latencyMs: 50 });
  await build(24);
  const operation = { kind: 'drain', hosts: ['host-1', 'host-2'], parallel: 2, timeoutMs: 600_000 } as const;
  const snapshot = await fleet.snapshot();
  const kills = ['conductor', 'scheduler', 'store', 'agent', 'broker'] as const;
  const rehearsing = { snapshot, kills, seeds: [1, 2, 3, 4, 5], buildMs: 20_000 };
  const first = await rehearsals(fleet, operation, rehearsing);
  const again = await rehearsals(fleet, operation, rehearsing);
  expect(again.outcomes).toEqual(first.outcomes);
  expect(first.metrics.broken.most).toBe(0);
  expect(first.metrics.unfinished.most).toBe(0);
});

/** The reason why it finds no other host; undefined once it is on one. */
async function evacuate(uuid: string, lost: string): Promise<string | undefined> {
  let wasAsked = false;
  for (;;) {
    const { host, state, fault } = await fleet.client.instance(uuid);
    if (host !== lost && state === 'active') return undefined;
    if (wasAsked && state === 'unknown' && fault) return fault.reason;
    if (state === 'unknown' || state === 'active') {
      wasAsked = await fleet.client.operate(uuid, 'evacuate').then(
        () => true,
        () => wasAsked,
      );
    }
    await sleep(clock, 100);
  }
}
