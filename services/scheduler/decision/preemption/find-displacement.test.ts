import { randomUUID } from 'node:crypto';
import type { ConsumerWrite } from '#libs/placement/port/placement-store';
import { aWrite, mustCommit } from '#libs/testing/placement/placement';
import { aWorld, uuidOfHost, type World } from '../../testing/world';

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

/** An instance on a host; its uuid. */
async function runs(host: string, vcpus: number, fields: Partial<ConsumerWrite> = {}): Promise<string> {
  const uuid = randomUUID();
  const consumers = [aWrite({ [uuidOfHost(host)]: { VCPU: vcpus } }, { uuid, ...fields })];
  await mustCommit(world.placement, { kind: 'write_allocations', atMs: world.clock.now(), consumers });
  return uuid;
}

/** The displacement that `explain` names for a request. */
async function displaced(vcpus: number, requiredTraits: readonly string[] = [], stayingInstanceUuids: string[] = []) {
  const scheduler = await world.scheduler();
  const more = { mayDisplace: true, stayingInstanceUuids };
  const { displacement } = scheduler.explain({ resources: { VCPU: vcpus }, requiredTraits }, '', 1, more);
  return displacement && [displacement.host, displacement.instanceUuids.toSorted()];
}

it('names the host that has to lose the fewest, and of these the large ones', async () => {
  for (const host of ['h1', 'h2']) await world.report(host);
  for (const vcpus of [2, 2, 2, 2]) await runs('h1', vcpus);
  const [large] = [await runs('h2', 5), await runs('h2', 1), await runs('h2', 1)];
  expect(await displaced(5)).toEqual(['h2', [large]]);
  expect(await displaced(1)).toBeUndefined();
});

it('leaves hosts alone where the request may not be, and whoever is to stay', async () => {
  await world.report('h1', { traits: ['CUSTOM_GPU'] });
  await world.report('h2');
  const [first, second] = [await runs('h1', 4), await runs('h1', 4)].toSorted();
  await runs('h2', 8);
  expect(await displaced(8, ['CUSTOM_GPU'])).toEqual(['h1', [first, second]]);
  expect(await displaced(4, ['CUSTOM_GPU'], [first as string])).toEqual(['h1', [second]]);
  expect(await displaced(8, ['CUSTOM_GPU'], [first as string])).toBeUndefined();
});

it('asks nothing of priorities and protection, as what is moved goes on, and takes instances only', async () => {
  await world.report('h1');
  const safe = await runs('h1', 4, { priority: 100, isProtected: true });
  await runs('h1', 4, { owner: 'api' });
  expect(await displaced(4)).toEqual(['h1', [safe]]);
  expect(await displaced(8)).toBeUndefined();
});
