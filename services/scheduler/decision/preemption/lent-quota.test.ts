import { randomUUID } from 'node:crypto';
import { inventory } from '#libs/domain/inventory';
import type { ConsumerWrite } from '#libs/placement/port/placement-store';
import { aWrite, mustCommit } from '#libs/testing/placement/placement';
import { setQuota } from '#libs/testing/placement/projects/placement-store-quotas';
import { aWorld, uuidOfHost, type World } from '../../testing/world';

let world: World;
beforeEach(async () => {
  world = aWorld();
  await world.report('h1', { inventories: { VCPU: inventory(6) } });
  for (const [project, limit] of [
    ['project-1', 2],
    ['lender', 4],
    ['third', 2],
  ] as const) {
    await setQuota(world.placement, project, { limits: { VCPU: limit }, cohort: 'lab' });
  }
});
afterEach(() => world.close());

async function runs(projectId: string, vcpus: number, fields: Partial<ConsumerWrite> = {}): Promise<string> {
  const uuid = randomUUID();
  const consumers = [aWrite({ [uuidOfHost('h1')]: { VCPU: vcpus } }, { uuid, projectId, ...fields })];
  await mustCommit(world.placement, { kind: 'write_allocations', atMs: world.clock.now(), consumers });
  return uuid;
}

async function victims() {
  const scheduler = await world.scheduler();
  const asked = { priority: 50, mayPreempt: true };
  const { response } = await scheduler.select({ resources: { VCPU: 2 } }, 1, 0, asked);
  expect(response.noValidHost?.quotaExceeded).toEqual([]);
  return response.preemption?.victims.map(({ instanceUuid }) => instanceUuid);
}

it.each([
  ['spares', 'of its priority', 50, true],
  ['spares', 'of every priority', -1, true],
  ['evicts', 'of a lower priority', 49, false],
])(
  '%s a lender within its limits when it would borrow, and gives back what is %s',
  async (_, _of, reclaim, isSpared) => {
    await setQuota(world.placement, 'project-1', { limits: { reclaim } });
    await runs('project-1', 2, { priority: 50 });
    const lender = await runs('lender', 4);
    expect(await victims()).toEqual(isSpared ? undefined : [lender]);
  },
);

it('evicts a lender when it stays within its own limits', async () => {
  await setQuota(world.placement, 'project-1', { limits: { reclaim: -1 } });
  const lender = await runs('lender', 4);
  await runs('third', 2, { priority: 50 });
  expect(await victims()).toEqual([lender]);
});

it('evicts those who have borrowed, too, and those outside of its cohort', async () => {
  await setQuota(world.placement, 'project-1', { limits: { reclaim: -1 } });
  await runs('project-1', 2, { priority: 50 });
  const other = await runs('stranger', 4);
  expect(await victims()).toEqual([other]);
});
