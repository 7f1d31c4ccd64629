import { DEFAULT_PROJECT } from '#libs/domain/quotas/quota';
import { seededRandom } from '#libs/domain/random';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { Mirror } from '#libs/placement/mirror/mirror';
import { silentLog } from '#libs/runtime/log';
import { type FakeClock, fakeClock } from '#libs/testing/fake-clock';
import { aProvider, aWrite, mustCommit } from '#libs/testing/placement/placement';
import { setQuota } from '#libs/testing/placement/projects/placement-store-quotas';
import { fleetCapacity, readFairShares, weightOf } from './fair-shares';
import { keepUsesSampled, sampleUses } from './sample-uses';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let clock: FakeClock;
let placement: MemoryPlacementStore;
let mirror: Mirror;
let provider: string;
const writes = new Map<string, ReturnType<typeof aWrite>>();

beforeEach(async () => {
  clock = fakeClock();
  clock.jump(20_000.5 * DAY_MS);
  placement = new MemoryPlacementStore();
  provider = await aProvider(placement);
  mirror = await Mirror.open(placement, {
    clock,
    random: seededRandom(1),
    log: silentLog,
  });
  writes.clear();
});
afterEach(() => mirror.close());

const deps = (halfLifeMs = HOUR_MS) => {
  const config = { usageIntervalMs: 60_000 };
  return { placement, mirror, clock, random: seededRandom(1), log: silentLog, halfLifeMs, config };
};
const shares = async () => (await readFairShares(deps(), { VCPU: 100 }, clock.now())).projects;
const latelyOf = async (projectId: string) => (await shares()).get(projectId)?.lately ?? 0;

/** A project holds so much from now on. */
async function hold(projectId: string, vcpu: number): Promise<void> {
  const write = writes.get(projectId) ?? aWrite({}, { projectId });
  writes.set(projectId, write);
  const allocations = vcpu === 0 ? {} : { [provider]: { VCPU: vcpu } };
  const consumers = [{ ...write, allocations }];
  mirror.apply(await mustCommit(placement, { kind: 'write_allocations', force: true, consumers, atMs: clock.now() }));
}

it('halves with each half-life what a project used, sampled or not', async () => {
  await hold('a', 40);
  await clock.advance(HOUR_MS);
  expect(await latelyOf('a')).toBeCloseTo(0.2, 1);
  await sampleUses(deps());
  expect(await latelyOf('a')).toBeCloseTo(0.2, 1);
  await hold('a', 0);
  await clock.advance(HOUR_MS);
  await sampleUses(deps());
  await clock.advance(HOUR_MS);
  expect(await latelyOf('a')).toBeCloseTo(0.05, 1);
  expect((await shares()).get('a')).toMatchObject({ now: 0, nowClass: '', latelyClass: 'VCPU' });
});

it('has the same from every scheduler, whoever took the samples, over the settling of days', async () => {
  await hold('a', 40);
  for (let n = 0; n < 30; n++) {
    await clock.advance(HOUR_MS);
    if (n % 3 === 1) await hold('a', n);
    if (n % 2 === 0) await sampleUses(deps());
    await mustSettle();
  }
  const one = await latelyOf('a');
  const other = await Mirror.open(placement, {
    clock,
    random: seededRandom(2),
    log: silentLog,
  });
  const { projects } = await readFairShares({ ...deps(), mirror: other }, { VCPU: 100 }, clock.now());
  expect(projects.get('a')?.lately).toBe(one);
  // It held 28, and before that 25.
  expect(one).toBeGreaterThan(0.25);
  expect(one).toBeLessThan(0.28);
  await other.close();
});

const mustSettle = () => placement.commit({ kind: 'settle_project', projectId: 'a', keepDays: 10, atMs: clock.now() });

it('samples only what has changed, makes no change of it, and forgets who is forgotten', async () => {
  await hold('a', 40);
  await hold('b', 10);
  await sampleUses(deps());
  const before = await placement.recentUses();
  expect(before.map(({ projectId }) => projectId).sort()).toEqual(['a', 'b']);
  const { revision } = mirror;
  await clock.advance(1_000);
  await hold('b', 0);
  await sampleUses(deps());
  const after = await placement.recentUses();
  expect(after.find(({ projectId }) => projectId === 'a')).toEqual(before.find(({ projectId }) => projectId === 'a'));
  expect(after.find(({ projectId }) => projectId === 'b')?.atMs).toBe(clock.now());
  expect(await placement.revision()).toBe(revision + 1);
  await clock.advance(3 * DAY_MS);
  await placement.commit({ kind: 'settle_project', projectId: 'b', keepDays: 1, atMs: clock.now() });
  await clock.advance(3 * DAY_MS);
  await placement.commit({ kind: 'settle_project', projectId: 'b', keepDays: 1, atMs: clock.now() });
  await sampleUses(deps());
  expect((await placement.recentUses()).map(({ projectId }) => projectId)).toEqual(['a']);
});

it('samples a half-life many times, and never where those who wait take turns', async () => {
  const stop = new AbortController();
  const off = keepUsesSampled(deps(0), stop.signal);
  const on = keepUsesSampled(deps(), stop.signal);
  await off;
  await hold('a', 40);
  await clock.advance(90_000);
  expect(await placement.recentUses()).toHaveLength(1);
  stop.abort();
  await on;
});

it('weighs by the own limit, else by the default, else 1', async () => {
  expect(weightOf('a', mirror.quotas)).toBe(1);
  const set = async (projectId: string, weight: number) => {
    const result = await setQuota(placement, projectId, { limits: { weight } });
    if (result.kind === 'committed') mirror.apply(result.change);
  };
  await set(DEFAULT_PROJECT, 2);
  await set('a', 5);
  expect([weightOf('a', mirror.quotas), weightOf('b', mirror.quotas)]).toEqual([5, 2]);
});

it('sums the capacity of all providers', async () => {
  await aProvider(placement);
  await mirror.waitFor(await placement.revision(), { timeoutMs: 1_000 });
  expect(fleetCapacity(mirror)).toEqual({ VCPU: 20, MEMORY_MB: 2_000 });
});
