import { RESERVATION_CONSUMER, reservationUuidOf } from '#libs/domain/queueing/place-lease';
import type { Running } from '#libs/runtime/service';
import { contentsOf, mustCommit } from '#libs/testing/placement/placement';
import { ConductorWorld, providerOf } from '../testing/conductor-world';

let world: ConductorWorld;
const conductors: Running[] = [];

beforeEach(async () => {
  world = new ConductorWorld();
  await world.open({ h1: 1, h2: 1, h3: 1 });
  conductors.push(await world.conductor());
});

afterEach(async () => {
  await world.closed(...conductors.splice(0));
});

/** One that h1 has been ordered to build and says nothing of, with what a scheduler would hold of h2 and h3; its uuid. */
async function building(alternatesHeld: 'leased' | 'reserved'): Promise<string> {
  world.behaviour.set('h1', 'late');
  await world.request(1, undefined, undefined, { admission: { alternatesHeld } });
  await world.clock.advance(10);
  const [{ uuid } = { uuid: '' }] = await world.all();
  const allocations = { [providerOf('h2')]: { VCPU: 1 }, [providerOf('h3')]: { VCPU: 1 } };
  const who = { projectId: 'project-1', userId: 'user-1' };
  if (alternatesHeld === 'leased') {
    const about = {
      kind: 'alternates',
      consumerUuid: uuid,
      projectId: 'project-1',
      priority: 0,
      untilMs: 1e13,
    } as const;
    await mustCommit(world.placement, { kind: 'write_lease', lease: { ...about, places: [] } });
    return uuid;
  }
  const held = { consumerType: 'RESERVATION', owner: 'conductor', mappings: {}, expect: { kind: 'absent' } } as const;
  const consumers = [{ ...who, ...held, uuid: reservationUuidOf(uuid), allocations }];
  const atMs = world.clock.now();
  await mustCommit(world.placement, { kind: 'write_allocations', atMs, consumers });
  return uuid;
}

const reserved = async (uuid: string) => {
  const [held] = await world.placement.consumers([reservationUuidOf(uuid)]);
  return held && Object.keys(held.allocations);
};
const leases = async () => (await contentsOf(world.placement)).leases.length;
const stateOf = async (uuid: string) => (await world.instances.get([uuid]))[0]?.state;
const answer = (outcome: 'active' | 'failed') => {
  const order = world.orders.at(-1);
  return order && world.report(order, outcome);
};

it('has a name for each reservation from which the instance is known', () => {
  const uuid = 'c0000000-0000-4000-8000-000000000001';
  expect(reservationUuidOf(uuid)).toBe('c0000000-0000-4000-c000-000000000001');
  expect(reservationUuidOf(reservationUuidOf(uuid))).toBe(uuid);
});

it.each(['leased', 'reserved'] as const)('ends what is %s when the build succeeds', async (how) => {
  const uuid = await building(how);
  expect([await leases(), (await reserved(uuid))?.length]).toEqual(how === 'leased' ? [1, undefined] : [0, 2]);
  world.behaviour.set('h1', 'builds');
  await answer('active');
  await world.clock.advance(100);
  expect(await stateOf(uuid)).toBe('active');
  expect([await leases(), await reserved(uuid)]).toEqual([0, undefined]);
});

it.each(['leased', 'reserved'] as const)('ends what is %s when it is terminated', async (how) => {
  const uuid = await building(how);
  await world.terminate(uuid);
  await world.clock.advance(20_000);
  expect(await stateOf(uuid)).toBe('deleted');
  expect([await leases(), await reserved(uuid), await world.claims()]).toEqual([0, undefined, []]);
});

it('gives what is reserved to the instance in one commit, and keeps the rest until it is ACTIVE', async () => {
  const uuid = await building('reserved');
  world.behaviour.set('h2', 'late');
  await answer('failed');
  await world.clock.advance(100);
  // Nobody could have come in between: both are held, by the instance and its reservation.
  expect((await world.instances.get([uuid]))[0]).toMatchObject({ state: 'building', host: 'h2' });
  expect(await reserved(uuid)).toEqual([providerOf('h3')]);
  await answer('active');
  await world.clock.advance(100);
  expect(await reserved(uuid)).toBeUndefined();
  expect(await world.claims()).toEqual([`${uuid} h2`]);
});

it('goes on with plain alternates when nothing is reserved any more', async () => {
  const uuid = await building('reserved');
  const [held] = await world.placement.consumers([reservationUuidOf(uuid)]);
  const claimToken = held?.claimToken ?? 0;
  await mustCommit(world.placement, {
    kind: 'release_claim',
    consumerUuid: reservationUuidOf(uuid),
    claimToken,
    consumerType: RESERVATION_CONSUMER,
  });
  await answer('failed');
  await world.clock.advance(100);
  expect(await world.claims()).toEqual([`${uuid} h2`]);
});

describe('an audit', () => {
  it('leaves a reservation alone while its instance is built, and no longer than it may last', async () => {
    await conductors.pop()?.close();
    const long = { BERTH_CONDUCTOR_BUILD_TIMEOUT_MS: '10000000', BERTH_CONDUCTOR_RESERVATION_MS: '100000' };
    conductors.push(await world.conductor(undefined, long));
    const uuid = await building('reserved');
    await world.clock.advance(60_000);
    expect(await reserved(uuid)).toHaveLength(2);
    await world.clock.advance(120_000);
    expect(await stateOf(uuid)).toBe('building');
    expect(await reserved(uuid)).toBeUndefined();
  });

  it('releases what a slow scheduler has reserved for one that is ACTIVE, or that nobody knows', async () => {
    const uuid = await building('reserved');
    const [held] = await world.placement.consumers([reservationUuidOf(uuid)]);
    await answer('active');
    await world.clock.advance(100);
    if (held === undefined) throw new Error('nothing is reserved');
    const { projectId, userId, consumerType, owner, allocations, mappings } = held;
    const late = { projectId, userId, consumerType, owner, mappings, expect: { kind: 'absent' } } as const;
    const unknown = reservationUuidOf('c0000000-0000-4000-8000-00000000000f');
    for (const [one, provider] of [
      [held.uuid, 'h2'],
      [unknown, 'h3'],
    ] as const) {
      const consumers = [{ ...late, uuid: one, allocations: { [providerOf(provider)]: { VCPU: 1 } } }];
      await mustCommit(world.placement, { kind: 'write_allocations', atMs: world.clock.now(), consumers });
    }
    expect(Object.keys(allocations)).toHaveLength(2);
    await world.clock.advance(60_000);
    expect(await stateOf(uuid)).toBe('active');
    expect(await world.claims()).toEqual([`${uuid} h1`]);
    expect(world.harmed).toEqual([]);
  });
});
