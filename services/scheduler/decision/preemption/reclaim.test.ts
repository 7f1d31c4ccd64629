import { randomUUID } from 'node:crypto';
import type { ConsumerWrite } from '#libs/placement/port/placement-store';
import { aWrite, mustCommit } from '#libs/testing/placement/placement';
import { setQuota } from '#libs/testing/placement/projects/placement-store-quotas';
import { aWorld, hostsOf, uuidOfHost, type World } from '../../testing/world';

let world: World;
beforeEach(async () => {
  world = aWorld();
  for (const host of ['h1', 'h2']) await world.report(host);
  for (const project of ['project-1', 'borrower']) {
    await setQuota(world.placement, project, { limits: { VCPU: 4 }, cohort: 'lab' });
  }
});
afterEach(() => world.close());

const HIGH = { priority: 50, mayPreempt: true };

/** An instance of the project that borrows; its uuid. */
async function runs(vcpus: number, fields: Partial<ConsumerWrite> = {}, host = 'h1'): Promise<string> {
  const uuid = randomUUID();
  const write = aWrite({ [uuidOfHost(host)]: { VCPU: vcpus } }, { uuid, projectId: 'borrower', ...fields });
  await mustCommit(world.placement, { kind: 'write_allocations', atMs: world.clock.now(), consumers: [write] });
  return uuid;
}

async function taken(vcpus: number, asked = HIGH, count = 1) {
  const scheduler = await world.scheduler();
  const { response } = await scheduler.select({ resources: { VCPU: vcpus } }, count, 0, asked);
  expect(response.noValidHost?.quotaExceeded).toMatchObject([{ scope: 'cohort', name: 'lab' }]);
  const { preemption } = response;
  expect(preemption?.reclaims ?? true).toBe(true);
  return preemption?.victims.map(({ instanceUuid }) => instanceUuid);
}

it('takes back what was borrowed, and no more than it needs', async () => {
  for (const vcpus of [4, 2]) {
    await runs(vcpus);
    await world.clock.advance(1);
  }
  const youngest = await runs(2);
  expect(await taken(2)).toEqual([youngest]);
});

it('takes the least important of all hosts, where there is room on one', async () => {
  await runs(4, { priority: 9 });
  await runs(2, { priority: 5 });
  const least = await runs(2, { priority: 1 }, 'h2');
  expect(await taken(1)).toEqual([least]);
});

it('leaves the borrower what is its own', async () => {
  const [one, other] = [await runs(4), await runs(4)];
  const victims = await taken(4);
  expect(victims).toHaveLength(1);
  expect([one, other]).toContain(victims?.[0]);
});

it('takes nothing back beyond its own limit, nor from others who are within theirs', async () => {
  await setQuota(world.placement, 'third', { limits: { VCPU: 4 }, cohort: 'lab' });
  await runs(4, { projectId: 'third', priority: -9 }, 'h2');
  const borrowed = await runs(8);
  expect(await taken(5)).toBeUndefined();
  expect(await taken(4)).toEqual([borrowed]);
});

it.each<[string, Partial<ConsumerWrite>]>([
  ['of the same priority', { priority: 50 }],
  ['that is protected', { isProtected: true }],
  ['of the placement API', { owner: 'api' }],
])('takes the place of none %s', async (_, fields) => {
  await runs(8, fields);
  expect(await taken(4)).toBeUndefined();
});

it('takes the place of any priority that the borrower’s quota gives up', async () => {
  const uuid = await runs(8, { priority: 60 });
  await setQuota(world.placement, 'borrower', { limits: { reclaim: 59 } });
  expect(await taken(4)).toBeUndefined();
  await setQuota(world.placement, 'borrower', { limits: { reclaim: 60 } });
  expect(await taken(4)).toEqual([uuid]);
  await setQuota(world.placement, 'borrower', { limits: { reclaim: -1 } });
  expect(await taken(4, { ...HIGH, priority: 51 })).toEqual([uuid]);
});

it('finds room on the host of those who go, where there is none else', async () => {
  const large = await runs(8);
  await world.occupy('h2', { DISK_GB: 1 });
  const scheduler = await world.scheduler();
  const about = { resources: { VCPU: 4, DISK_GB: 100 } };
  const { response } = await scheduler.select(about, 1, 0, HIGH);
  // Neither host has all the disk that is asked: h1 has it.
  expect(response.preemption?.victims.map(({ instanceUuid }) => instanceUuid)).toEqual([large]);
  expect(response.preemption?.host).toBe('h1');
});

it('keeps what is given back from others of the cohort, until it is claimed', async () => {
  const victim = await runs(8);
  const scheduler = await world.scheduler();
  const uuid = randomUUID();
  await scheduler.select({ resources: { VCPU: 4 } }, [uuid], 0, HIGH);
  const [held] = await world.placement.consumers([victim]);
  await mustCommit(world.placement, {
    kind: 'release_claim',
    consumerUuid: victim,
    claimToken: held?.claimToken ?? 0,
  });
  await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  const borrowing = { resources: { VCPU: 5 }, projectId: 'borrower' };
  const again = await scheduler.select(borrowing);
  expect(again.response.noValidHost?.quotaExceeded).toMatchObject([{ scope: 'cohort', used: 4, asked: 5, limit: 8 }]);
  expect(hostsOf(await scheduler.select({ resources: { VCPU: 4 } }, [uuid], 0, HIGH))).toHaveLength(1);
});
