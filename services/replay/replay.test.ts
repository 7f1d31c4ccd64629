import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inventory } from '#libs/domain/inventory';
import { aWorld, hostsOf, type TestScheduler, type World } from '../scheduler/testing/world';
import { explainPast, exportRecord, importRecord, parseWhatIf, segmentsOf, verifyRecord } from './main';
import { entriesOf } from './records';

/* Recorded decisions of a small fleet, made again, and as they would have been. */

let folder: string;
let world: World;
let scheduler: TestScheduler;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-record-'));
  world = aWorld();
  scheduler = await world.scheduler({ weightCpu: 1, weightRam: 0, weightDisk: 0 });
  await world.report('small', { inventories: { VCPU: inventory(4) } });
  await world.report('large', { inventories: { VCPU: inventory(8) } });
  await caughtUp();
});
afterEach(async () => {
  await world.close();
  rmSync(folder, { recursive: true });
});

async function caughtUp(): Promise<void> {
  await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
}

/** Records what is done, from when all rows are written. */
async function recording(work: () => Promise<unknown>, maxBytes?: number): Promise<void> {
  const recorder = await scheduler.record(folder, maxBytes);
  await world.clock.advance(10);
  await work();
  await recorder.close();
}

const vcpus = (VCPU: number) => ({ resources: { VCPU } });

async function verified() {
  const all = [];
  for await (const one of verifyRecord(folder)) all.push(one);
  return all;
}

it('shows every host of a past decision with its verdict, on the fleet as it was then', async () => {
  const uuid = 'aaaaaaaa-0000-4000-8000-000000000001';
  await recording(() => scheduler.select(vcpus(2), [uuid]));
  await world.report('small', { inventories: { VCPU: inventory(400) } });

  const past = await explainPast(folder, { uuid, changes: [], horizon: 0 });

  expect(past).toMatchObject({ isSame: true, instanceUuids: [uuid], instead: undefined });
  expect(past.outcome).toMatchObject({ kind: 'decided', destinations: [{ instanceUuid: uuid, host: 'large' }] });
  expect(past.hosts.map(({ host, passed }) => [host, passed])).toEqual([
    ['large', true],
    ['small', true],
  ]);
});

it('finds the decision by a time and by a revision', async () => {
  const uuid = 'aaaaaaaa-0000-4000-8000-000000000001';
  let between = 0;
  let revision = 0;
  await recording(async () => {
    await scheduler.select(vcpus(20), [uuid]);
    ({ revision } = scheduler.mirror);
    await world.clock.advance(1_000);
    between = world.clock.now();
    await world.clock.advance(1_000);
    await scheduler.select(vcpus(2), [uuid]);
  });
  const kindOf = async (moment?: { atMs: number } | { revision: number }) =>
    (await explainPast(folder, { uuid, moment, changes: [], horizon: 0 })).outcome.kind;

  expect(await kindOf()).toBe('decided');
  expect(await kindOf({ atMs: between })).toBe('refused');
  expect(await kindOf({ revision })).toBe('decided');
  await expect(kindOf({ atMs: 1 })).rejects.toMatchObject({ reason: 'no_such_decision' });
});

it('says what another weight, filter or host would have chosen, and who would have found a host then', async () => {
  const uuid = 'aaaaaaaa-0000-4000-8000-000000000001';
  await recording(async () => {
    expect(hostsOf(await scheduler.select(vcpus(2), [uuid]))).toEqual(['large']);
    await world.clock.advance(1_000);
    expect(hostsOf(await scheduler.select(vcpus(7)))).toEqual([]);
    expect(hostsOf(await scheduler.select(vcpus(4)))).toHaveLength(1);
  });
  const withChange = (change: string) =>
    explainPast(folder, { uuid, changes: [parseWhatIf(change)], horizon: 100 }).then(({ instead }) => instead);

  const packed = await withChange('weight=cpu:-1');
  expect(packed?.outcome).toMatchObject({ destinations: [{ host: 'small' }] });
  expect(packed?.regret).toMatchObject({ count: 2, placed: [{ instead: { destinations: [{ host: 'large' }] } }] });

  expect((await withChange('host-down=large'))?.outcome).toMatchObject({ destinations: [{ host: 'small' }] });
  expect((await withChange('BERTH_SCHEDULER_WEIGHT_CPU=-1'))?.outcome).toEqual(packed?.outcome);
  await expect(withChange('host-up=elsewhere')).rejects.toMatchObject({ reason: 'no_such_host' });
  await expect(withChange('without-filter=elsewhere')).rejects.toMatchObject({ reason: 'no_such_filter' });
  expect(() => parseWhatIf('weight=moon:1')).toThrow('weight=WEIGHER:N');
});

it('says what a host that was down would have taken', async () => {
  const uuid = 'aaaaaaaa-0000-4000-8000-000000000001';
  await recording(() => scheduler.select(vcpus(16), [uuid]));
  const asked = { uuid, changes: [parseWhatIf('without-filter=capacity')], horizon: 0 };
  const { outcome, instead } = await explainPast(folder, asked);
  expect(outcome.kind).toBe('refused');
  expect(instead?.outcome.kind).toBe('decided');
});

it('begins another segment when one is large, and misses no decision', async () => {
  await recording(async () => {
    for (let round = 0; round < 1_500; round++) {
      await scheduler.select(vcpus(100));
      await world.clock.advance(1);
    }
  }, 1);
  const all = await verified();
  expect(all.length).toBeGreaterThan(1);
  expect(all.every(({ different }) => different.length === 0)).toBe(true);
  expect(all.reduce((sum, { count }) => sum + count, 0)).toBeGreaterThanOrEqual(1_500);
});

it('counts a build that its host has not reported for as long as the scheduler did', async () => {
  const avoiding = await world.scheduler({ weightIoOps: -100, weightRam: 0, weightDisk: 0 });
  await world.occupy('small', { VCPU: 2 });
  await world.clock.advance(10);
  await avoiding.select({ ...vcpus(1), forceHosts: ['large'] });
  await caughtUp();
  expect(avoiding.host('large')?.buildsInProgress).toBe(1);
  await world.clock.advance(avoiding.config.claimSettleMs - 100);
  const recorder = await avoiding.record(folder);
  await world.clock.advance(200);
  // It is settled now, a moment after the record began.
  expect(hostsOf(await avoiding.select(vcpus(1)))).toEqual(['large']);
  await recorder.close();
  expect((await verified()).map(({ count, different }) => [count, different])).toEqual([[1, []]]);
});

it('reads a record up to the batch that a process left torn', async () => {
  await recording(() => scheduler.select(vcpus(1)));
  const [segment] = segmentsOf(folder);
  const path = segment?.path ?? '';
  const whole = [...entriesOf({ path })].length;
  appendFileSync(path, Buffer.from([200, 1, 0, 0, 1, 2, 3, 4, 5]));
  expect([...entriesOf({ path })]).toHaveLength(whole);
  truncateSync(path, (segment?.bytes ?? 0) - 1);
  expect([...entriesOf({ path })].length).toBeLessThan(whole);
});

it('exports a record under other names that decides alike, and imports it', async () => {
  await recording(async () => {
    await scheduler.select({ ...vcpus(1), projectId: 'secret-project' });
    await scheduler.select({ ...vcpus(1), forceHosts: ['small'] });
  });
  const file = join(folder, 'report.gz');
  expect(await exportRecord(folder, file, { sinceMs: 0, untilMs: Infinity, anonymize: true })).toBe(1);
  const other = join(folder, 'other');
  expect(await importRecord(file, other)).toBe(1);

  const [segment] = segmentsOf(other);
  const text = JSON.stringify([...entriesOf({ path: segment?.path ?? '' })]);
  for (const name of ['secret-project', '"small"', '"large"']) expect(text).not.toContain(name);
  for await (const { count, different } of verifyRecord(other)) {
    expect({ count, different }).toEqual({ count: 2, different: [] });
  }
  await expect(importRecord(segment?.path ?? '', other)).rejects.toMatchObject({ reason: 'unreadable_file' });
});

it('closes its files when the folder is gone, and records again once it is back', async () => {
  const recorder = await scheduler.record(folder, 1);
  await world.clock.advance(10);
  while (openFiles().length === 0) await new Promise(setImmediate);
  rmSync(folder, { recursive: true });
  for (let n = 0; openFiles().length > 0 && n < 2_000; n++) {
    await scheduler.select(vcpus(100));
    await world.clock.advance(1);
  }
  expect(openFiles()).toEqual([]);

  mkdirSync(folder);
  await world.clock.advance(60_010);
  await scheduler.select(vcpus(2));
  await recorder.close();

  expect(await verified()).toMatchObject([{ count: 1, different: [] }]);
});

/** Files of the folder that this process has open. */
function openFiles(): readonly string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(folder) ? [path] : [];
    } catch {
      return [];
    }
  });
}
