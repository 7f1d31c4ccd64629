import { randomUUID } from 'node:crypto';
import { reservationUuidOf } from '#libs/domain/queueing/place-lease';
import { aFailure, mustCommit } from '#libs/testing/placement/placement';
import { setQuota } from '#libs/testing/placement/projects/placement-store-quotas';
import { aWorld, hostsOf, type TestScheduler, uuidOfHost, type World } from '../../testing/world';

let world: World;
let scheduler: TestScheduler;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

const ONE = { resources: { VCPU: 1 } };
const HALF = { resources: { VCPU: 4 } };

async function open(...hosts: readonly string[]): Promise<void> {
  for (const host of hosts) await world.report(host);
  scheduler = await world.scheduler();
}

/** Selects for one instance, with alternates that are held; its uuid and its hosts. */
async function place(
  alternatesHeld: 'leased' | 'reserved',
  spec = HALF,
  numAlternates = 1,
  uuid: string = randomUUID(),
) {
  const { response } = await scheduler.select(spec, [uuid], numAlternates, { alternatesHeld });
  const [one] = response.destinations;
  return { uuid, host: one?.selected.host ?? '', alternates: (one?.alternates ?? []).map(({ host }) => host) };
}

const usedOn = async (host: string) => scheduler.mirror.usage(uuidOfHost(host)).VCPU ?? 0;
const reservedFor = async (uuid: string) => (await world.placement.consumers([reservationUuidOf(uuid)]))[0];

describe('leased alternates', () => {
  it('take no capacity, and are left alone as long as there is other room', async () => {
    await open('h1', 'h2', 'h3');
    const { alternates } = await place('leased');
    const [alternate = ''] = alternates;
    expect(await usedOn(alternate)).toBe(0);
    // All the room there is but for what is leased, which is half of the alternate.
    for (let n = 0; n < 4; n++) expect(hostsOf(await scheduler.select(HALF))).toHaveLength(1);
    expect(await usedOn(alternate)).toBe(4);
    // There is no other room: a lease costs nobody any.
    expect(hostsOf(await scheduler.select(HALF))).toEqual([alternate]);
  });

  it('are another scheduler’s to see', async () => {
    await open('h1', 'h2', 'h3');
    const { alternates } = await place('leased', { resources: { VCPU: 8 } });
    const other = await world.scheduler();
    expect(hostsOf(await other.select(ONE))).not.toEqual(alternates);
    expect(other.explain(ONE).hosts.find((one) => one.host === alternates[0])?.weights.leases).toBeLessThan(4);
  });

  it('overlap by how likely they are: a host may be the alternate of many', async () => {
    await open('h1', 'h2');
    const uuids = Array.from({ length: 8 }, () => randomUUID());
    await scheduler.select(ONE, uuids, 1, { alternatesHeld: 'leased' });
    // Four instances each have the other host as an alternate: the room that is wanted is that of one.
    expect(scheduler.host('h1')?.leased).toEqual({ VCPU: 1 });
    expect([...scheduler.mirror.leases()].map(({ places }) => places[0]?.likelihood)).toEqual(Array(8).fill(0.0357));
  });

  it('are likelier where builds have failed', async () => {
    await open('h1', 'h2', 'h3');
    const failure = { startedAtMs: undefined, halfLifeMs: 300_000, atMs: world.clock.now() };
    const forced = { ...ONE, forceHosts: ['h1'] };
    const likelihoods = async () => {
      const { response } = await scheduler.select({ ...forced }, 1, 0);
      expect(response.destinations).toHaveLength(1);
      const uuid = randomUUID();
      await scheduler.select({ ...ONE, ignoreHosts: [] }, [uuid], 2, { alternatesHeld: 'leased' });
      return [...scheduler.mirror.leases()].find(({ consumerUuid }) => consumerUuid === uuid)?.places;
    };
    const before = (await likelihoods())?.map(({ likelihood }) => likelihood) ?? [];
    for (const host of ['h1', 'h2', 'h3']) {
      for (let n = 0; n < 3; n++) await mustCommit(world.placement, aFailure({ host, ...failure }));
    }
    await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
    const after = (await likelihoods())?.map(({ likelihood }) => likelihood) ?? [];
    expect(before).toHaveLength(2);
    expect(before[1]).toBeLessThan(before[0] ?? 0);
    expect(after[0]).toBeGreaterThan(3 * (before[0] ?? 1));
  });

  it('count for nothing once their time is over, or their instance has a claim there', async () => {
    await open('h1', 'h2');
    const { uuid, alternates } = await place('leased');
    const [alternate = ''] = alternates;
    expect(scheduler.host(alternate)?.leased).toEqual({ VCPU: 4 });
    await world.occupy(alternate, { VCPU: 1 }, undefined, uuid);
    await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
    expect(scheduler.host(alternate)?.leased).toBeUndefined();
    const next = await place('leased');
    expect(scheduler.host(next.alternates[0] ?? '')?.leased).toBeDefined();
    await world.clock.advance(scheduler.config.leaseMs);
    expect(scheduler.host(next.alternates[0] ?? '')?.leased).toBeUndefined();
  });
});

describe('reserved alternates', () => {
  it('are held by one consumer of their own: nobody else gets that room', async () => {
    await open('h1', 'h2', 'h3');
    const { uuid, alternates } = await place('reserved', HALF, 2);
    expect(await reservedFor(uuid)).toMatchObject({
      consumerType: 'RESERVATION',
      owner: 'conductor',
      allocations: Object.fromEntries(alternates.map((host) => [uuidOfHost(host), { VCPU: 4 }])),
    });
    expect((await scheduler.select({ resources: { VCPU: 8 } })).response.destinations).toEqual([]);
  });

  it('of several instances do not overlap', async () => {
    await open('h1', 'h2', 'h3');
    const uuids = [randomUUID(), randomUUID()];
    const { response } = await scheduler.select(HALF, uuids, 2, { alternatesHeld: 'reserved' });
    const held = response.destinations.flatMap(({ selected, alternates }) => [selected, ...alternates]);
    // Three hosts have room for six.
    expect(held).toHaveLength(6);
    for (const host of ['h1', 'h2', 'h3']) expect(await usedOn(host)).toBe(8);
  });

  it('are as many as there is room and quota for, and the instance is placed all the same', async () => {
    await open('h1', 'h2', 'h3');
    await setQuota(world.placement, 'project-1', { limits: { VCPU: 9 } });
    await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
    const { uuid, alternates } = await place('reserved', HALF, 2);
    expect(alternates).toHaveLength(2);
    expect(Object.keys((await reservedFor(uuid))?.allocations ?? {})).toEqual([uuidOfHost(alternates[0] ?? '')]);
  });

  it('are the same, and not more, when it is asked again', async () => {
    await open('h1', 'h2');
    const whole = { resources: { VCPU: 8 } };
    const first = await place('reserved', whole);
    const again = await place('reserved', whole, 1, first.uuid);
    expect(again).toEqual(first);
    // Another scheduler, after the claim was lost: what is reserved is the instance's own to take.
    await mustCommit(world.placement, {
      kind: 'release_claim',
      consumerUuid: first.uuid,
      claimToken: (await world.placement.consumers([first.uuid]))[0]?.claimToken ?? 0,
    });
    scheduler = await world.scheduler();
    const anew = await place('reserved', { ...whole, ignoreHosts: [first.host] } as never, 1, first.uuid);
    expect(anew).toMatchObject({ host: first.alternates[0], alternates: [] });
    expect(await reservedFor(first.uuid)).toBeUndefined();
  });

  it('leave a consumer alone that has their uuid and is no reservation', async () => {
    await open('h1', 'h2');
    const uuid = randomUUID();
    await world.occupy('h2', { VCPU: 1 }, undefined, reservationUuidOf(uuid));
    await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
    expect((await place('reserved', HALF, 1, uuid)).alternates).toHaveLength(1);
    expect((await reservedFor(uuid))?.consumerType).not.toBe('RESERVATION');
  });
});
