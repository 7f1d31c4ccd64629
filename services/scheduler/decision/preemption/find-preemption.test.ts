import { randomUUID } from 'node:crypto';
import { inventory } from '#libs/domain/inventory';
import type { ConsumerWrite } from '#libs/placement/port/placement-store';
import { aWrite, mustCommit } from '#libs/testing/placement/placement';
import { aWorld, hostsOf, opened, uuidOfHost, type World } from '../../testing/world';

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

const LARGE = { resources: { VCPU: 8 } };
const HIGH = { priority: 50, mayPreempt: true };

/** An instance on a host; its uuid. */
async function runs(host: string, vcpus: number, fields: Partial<ConsumerWrite> = {}): Promise<string> {
  const uuid = randomUUID();
  const consumers = [aWrite({ [uuidOfHost(host)]: { VCPU: vcpus } }, { uuid, ...fields })];
  await mustCommit(world.placement, { kind: 'write_allocations', atMs: world.clock.now(), consumers });
  return uuid;
}

async function found(spec = LARGE, asked = HIGH) {
  const scheduler = await world.scheduler();
  const { response } = await scheduler.select(spec, 1, 0, asked);
  const { preemption } = response;
  return preemption && [preemption.host, preemption.victims.map(({ instanceUuid }) => instanceUuid)];
}

it('names no more than has to go, of the lowest priorities', async () => {
  await world.report('h1');
  const [low, lower] = [await runs('h1', 2, { priority: 1 }), await runs('h1', 2)];
  await runs('h1', 4, { priority: 2 });
  expect(await found({ resources: { VCPU: 2 } })).toEqual(['h1', [lower]]);
  // It would not touch a nomination of its own priority.
  expect(await found({ resources: { VCPU: 4 } }, { ...HIGH, priority: 51 })).toEqual(['h1', [lower, low]]);
});

it('puts back whom it need not take, so that a large one goes instead of many', async () => {
  await world.report('h1');
  const large = await runs('h1', 6);
  await runs('h1', 1);
  await runs('h1', 1);
  expect(await found({ resources: { VCPU: 5 } })).toEqual(['h1', [large]]);
});

it('takes the host where the least important have to go, then the fewest', async () => {
  for (const host of ['h1', 'h2', 'h3']) await world.report(host);
  await runs('h1', 8, { priority: 10 });
  await runs('h2', 4);
  await runs('h2', 4);
  const alone = await runs('h3', 8);
  expect(await found()).toEqual(['h3', [alone]]);
});

it.each<[string, Partial<ConsumerWrite>]>([
  ['of its own priority', { priority: 50 }],
  ['that is protected', { isProtected: true }],
  ["of the placement API's clients", { owner: 'api' }],
])('never takes the place of one %s', async (_, fields) => {
  await world.report('h1');
  await runs('h1', 8, fields);
  expect(await found()).toBeUndefined();
});

it.each([
  ['whose members never make room', { preemption: 'never' }, 0],
  ['that needs all it has', { min_available: '2' }, 0],
  ['whose budget can not be read', { min_available: 'most' }, 0],
  ['that can spare one', { min_available: '1' }, 1],
])('takes of a group %s as many as it can spare', async (_, metadata, count) => {
  await world.report('h1');
  const group = { id: 'web', policy: 'soft-anti-affinity', maxPerHost: 1 } as const;
  await mustCommit(world.placement, {
    kind: 'create_group',
    atMs: 0,
    projectId: 'project-1',
    name: 'web',
    policy: 'soft-anti-affinity',
    maxPerHost: 1,
    metadata,
  });
  for (let n = 0; n < 2; n++) await runs('h1', 4, { group: { group, host: 'h1' } });
  expect((await found({ resources: { VCPU: 4 } }))?.[1]?.length ?? 0).toBe(count);
});

it('offers nothing on a host that something else refuses, or that would not fit all the same', async () => {
  await world.report('h1');
  await runs('h1', 8);
  expect(await found({ resources: { VCPU: 9 } })).toBeUndefined();
  expect(await found({ ...LARGE, requiredTraits: ['HW_CPU_X86_AVX2'] } as typeof LARGE)).toBeUndefined();
});

it('takes more than a few on no host', async () => {
  await world.report('h1', { inventories: { VCPU: inventory(20) } });
  for (let n = 0; n < 20; n++) await runs('h1', 1);
  expect((await found({ resources: { VCPU: 8 } }))?.[1]).toHaveLength(8);
  expect(await found({ resources: { VCPU: 9 } })).toBeUndefined();
});

it('asks nobody to make room unless the request may, or when a host has room', async () => {
  await world.report('h1');
  await runs('h1', 8);
  expect(await found(LARGE, { priority: 50, mayPreempt: false })).toBeUndefined();
  await world.report('h2');
  expect(await found()).toBeUndefined();
});

it('claims by the priority of the request, and so does an alternate', async () => {
  await world.report('h1');
  await world.report('h2');
  const scheduler = await world.scheduler();
  const uuid = randomUUID();
  const selected = await scheduler.select({ resources: { VCPU: 1 } }, [uuid], 1, { priority: 7, isProtected: true });
  const [consumer] = await world.placement.consumers([uuid]);
  expect(consumer).toMatchObject({ priority: 7, isProtected: true });
  const sealed = selected.response.destinations[0]?.alternates[0]?.allocationRequest ?? new Uint8Array();
  expect(opened(scheduler, sealed)).toMatchObject({ priority: 7, isProtected: true });
  expect(hostsOf(selected)).toHaveLength(1);
});

it('explains whose place it would take', async () => {
  await world.report('h1');
  const low = await runs('h1', 8, { priority: -5 });
  const scheduler = await world.scheduler();
  const { preemption } = scheduler.explain(LARGE, '', 100, HIGH);
  expect(preemption).toMatchObject({ host: 'h1', furtherHosts: [], victims: [{ instanceUuid: low, priority: -5 }] });
  expect(scheduler.explain(LARGE).preemption).toBeUndefined();
});

describe('several instances', () => {
  it('take the places of others on several hosts, beside room that is there', async () => {
    for (const host of ['h1', 'h2', 'h3']) await world.report(host);
    const victims = [await runs('h1', 8), await runs('h2', 8, { priority: 3 })];
    await runs('h3', 1, { priority: 90 });
    const scheduler = await world.scheduler();
    const { response } = await scheduler.select({ resources: { VCPU: 7 } }, 3, 0, HIGH);
    expect(response.preemption).toMatchObject({ host: 'h1', furtherHosts: ['h2'] });
    expect(response.preemption?.victims.map(({ instanceUuid }) => instanceUuid)).toEqual(victims);
    expect([...scheduler.mirror.nominations()]).toHaveLength(3);
    expect((await scheduler.select({ resources: { VCPU: 7 } }, 4, 0, HIGH)).response.preemption).toBeUndefined();
  });

  it('take one host’s places twice when that is cheapest, and no more than may go', async () => {
    await world.report('h1', { inventories: { VCPU: inventory(16) } });
    for (let n = 0; n < 16; n++) await runs('h1', 1);
    const scheduler = await world.scheduler();
    const two = await scheduler.select({ resources: { VCPU: 4 } }, 2, 0, HIGH);
    expect(two.response.preemption?.victims).toHaveLength(8);
    expect(
      (await scheduler.select({ resources: { VCPU: 3 } }, 3, 0, { ...HIGH, priority: 60 })).response.preemption,
    ).toBe(undefined);
  });
});

describe('a nomination', () => {
  /** One that is to have the room of one on h1, who has not gone yet. */
  async function nominated(priority = 50) {
    await world.report('h1');
    const victim = await runs('h1', 8);
    const scheduler = await world.scheduler();
    const uuid = randomUUID();
    await scheduler.select(LARGE, [uuid], 0, { ...HIGH, priority });
    const token = (await world.placement.consumers([victim]))[0]?.claimToken ?? 0;
    await mustCommit(world.placement, { kind: 'release_claim', consumerUuid: victim, claimToken: token });
    await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
    return { scheduler, uuid };
  }

  it('keeps the room that others make from requests of the same priority and lower ones', async () => {
    const { scheduler, uuid } = await nominated();
    const { response } = await scheduler.select({ resources: { VCPU: 1 } }, 1, 0, { priority: 50 });
    expect(response.noValidHost?.filters).toMatchObject([{ filter: 'nominated', reasons: { nominated: 1 } }]);
    expect(hostsOf(await scheduler.select(LARGE, [uuid], 0, { priority: 50 }))).toEqual(['h1']);
    expect(scheduler.mirror.nominations()).toEqual([]);
  });

  it('keeps nothing from a higher priority, and nothing that is not needed', async () => {
    await world.report('h1', { inventories: { VCPU: inventory(8), MEMORY_MB: inventory(100) } });
    const { scheduler } = await nominated();
    expect(hostsOf(await scheduler.select({ resources: { MEMORY_MB: 50 } }))).toEqual(['h1']);
    expect(hostsOf(await scheduler.select({ resources: { VCPU: 1 } }, 1, 0, { priority: 51 }))).toEqual(['h1']);
  });

  it('ends when the room is given up', async () => {
    const { scheduler, uuid } = await nominated();
    const small = { resources: { VCPU: 1 } };
    await scheduler.select({ resources: { VCPU: 9 } }, [uuid], 0, { priority: 50 });
    expect(scheduler.mirror.nominations()).toEqual([]);
    expect(hostsOf(await scheduler.select(small))).toEqual(['h1']);
  });

  it('ends by its time', async () => {
    const { scheduler } = await nominated();
    await world.clock.advance(scheduler.config.nominationMs);
    expect(hostsOf(await scheduler.select(LARGE))).toEqual(['h1']);
  });
});
