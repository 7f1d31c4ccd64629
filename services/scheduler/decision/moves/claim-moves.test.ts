import { randomUUID } from 'node:crypto';
import type { ClaimMovesResponse } from '#libs/contracts/moves';
import { migrationUuidOf } from '#libs/domain/moves/migration';
import { type RequestSpec, requestSpec } from '#libs/domain/request-spec';
import type { ServerGroup } from '#libs/domain/server-group';
import { aWorld, type TestScheduler, uuidOfHost, type World } from '../../testing/world';

let world: World;
let scheduler: TestScheduler;
beforeEach(async () => {
  world = aWorld();
  scheduler = await world.scheduler();
});
afterEach(() => world.close());

const WHO = { projectId: 'project-1', userId: 'user-1' };

/** An instance on a, and what moves it away from there; with what it wants of its next host. */
async function onA(vcpus: number, { group, ...wants }: Partial<RequestSpec> = {}) {
  const instanceUuid = randomUUID();
  const plain = requestSpec({ VCPU: vcpus }, { ...WHO, group });
  const { response } = await scheduler.select({ ...plain, forceHosts: ['a'] }, [instanceUuid]);
  const claimToken = response.destinations[0]?.claimToken ?? 0;
  const move = { migrationUuid: migrationUuidOf(instanceUuid), claimToken, sourceHost: '' };
  return { instanceUuid, spec: { ...plain, ...wants, ignoreHosts: ['a'] }, move };
}

const hostsOf = ({ destinations }: ClaimMovesResponse) => destinations.map(({ selected }) => selected.host);
const holds = async (uuid: string) => (await world.placement.consumers([uuid]))[0]?.allocations;
const on = (host: string, VCPU: number) => ({ [uuidOfHost(host)]: { VCPU } });

it('claims all in one commit: instances hold their destinations, migrations what they leave', async () => {
  for (const host of ['a', 'b', 'c']) await world.report(host);
  await world.occupy('b', { VCPU: 4 });
  const [large, small] = [await onA(5), await onA(3)];
  const claimed = await scheduler.claimMoves([small, large]);
  expect(new Set(claimed.destinations.map(({ claimToken }) => claimToken)).size).toBe(1);
  expect(await holds(large.instanceUuid)).toEqual(on('c', 5));
  expect(await holds(large.move.migrationUuid)).toEqual(on('a', 5));
  expect(await holds(small.move.migrationUuid)).toEqual(on('a', 3));
});

it('answers the same when it is asked again, and claims nothing twice', async () => {
  for (const host of ['a', 'b']) await world.report(host);
  const one = await onA(2);
  const first = await scheduler.claimMoves([one]);
  const again = await scheduler.claimMoves([one]);
  expect(again.destinations).toMatchObject([{ claimToken: first.destinations[0]?.claimToken }]);
  expect(await holds(one.instanceUuid)).toEqual(on('b', 2));
});

it('claims none when one has no host, and says which and why', async () => {
  for (const host of ['a', 'b']) await world.report(host);
  const [fits, doesNot] = [await onA(2), await onA(2, { requiredTraits: ['CUSTOM_SSD'] })];
  const refused = await scheduler.claimMoves([fits, doesNot]);
  expect(refused).toMatchObject({ destinations: [], refusedInstanceUuid: doesNot.instanceUuid });
  expect(refused.noValidHost?.summary).toContain('CUSTOM_SSD');
  expect(await holds(fits.instanceUuid)).toEqual(on('a', 2));
});

it('says where they would go without claiming anything', async () => {
  for (const host of ['a', 'b']) await world.report(host);
  const one = await onA(2);
  expect(hostsOf(await scheduler.claimMoves([one], true))).toEqual(['b']);
  expect(await holds(one.instanceUuid)).toEqual(on('a', 2));
  expect(scheduler.fleet.pending.count).toBe(0);
});

it('keeps the members of a group apart that are moved together', async () => {
  for (const host of ['a', 'b', 'c']) await world.report(host);
  const group: ServerGroup = { id: 'web', policy: 'anti-affinity', maxPerHost: 2 };
  const moves = [await onA(1, { group }), await onA(1, { group })];
  const apart = { ...group, maxPerHost: 1 };
  const claimed = await scheduler.claimMoves(moves.map((one) => ({ ...one, spec: { ...one.spec, group: apart } })));
  expect(new Set(hostsOf(claimed))).toEqual(new Set(['b', 'c']));
});

it('leaves the only place of one that came late to it', async () => {
  for (const host of ['a', 'b', 'c']) await world.report(host);
  await world.report('d', { traits: ['CUSTOM_SSD'] });
  await world.occupy('b', { VCPU: 4 });
  await world.occupy('c', { VCPU: 8 });
  const ssd = { requiredTraits: ['CUSTOM_SSD'] };
  const [anywhere, picky] = [await onA(4), await onA(3, ssd)];
  await world.occupy('d', { VCPU: 4 });
  expect(hostsOf(await scheduler.claimMoves([anywhere, picky]))).toEqual(['b', 'd']);
});

describe('a host that the store refuses although nothing changed', () => {
  const group = { id: 'group-1', policy: 'anti-affinity', maxPerHost: 1 } as ServerGroup;
  // No filter knows of groups, so the commit alone refuses.
  const BLIND = { claimAttempts: 3, filters: ['compute', 'ignore_hosts', 'capacity'] };

  it('is left out of the next decision', async () => {
    for (const host of ['a', 'b', 'c']) await world.report(host);
    const one = await onA(2, { group });
    await world.occupy('b', { VCPU: 1 }, group);
    await world.occupy('c', { VCPU: 6 });
    const blind = await world.scheduler(BLIND);
    expect(hostsOf(await blind.claimMoves([one]))).toEqual(['c']);
    expect(await holds(one.instanceUuid)).toEqual(on('c', 2));
  });

  it('ends in no valid host when there is no other, and not in asking for ever', async () => {
    for (const host of ['a', 'b']) await world.report(host);
    const one = await onA(2, { group });
    await world.occupy('b', { VCPU: 1 }, group);
    const blind = await world.scheduler(BLIND);
    const refused = await blind.claimMoves([one]);
    expect(refused).toMatchObject({ destinations: [], refusedInstanceUuid: one.instanceUuid });
    expect(refused.noValidHost?.filters).toContainEqual({ filter: 'claim', refused: 1, reasons: { claim_refused: 1 } });
    expect(await holds(one.instanceUuid)).toEqual(on('a', 2));
  });
});

const AFFINITY: ServerGroup = { id: 'web', policy: 'affinity', maxPerHost: 1 };

it('moves an affinity group as one, to the first host that takes all of it', async () => {
  for (const host of ['a', 'b', 'c', 'd']) await world.report(host);
  // b and d take any of them, and only c takes all.
  for (const host of ['b', 'd']) await world.occupy(host, { VCPU: 4 });
  const moves = [
    await onA(3, { group: AFFINITY }),
    await onA(2, { group: AFFINITY }),
    await onA(1, { group: AFFINITY }),
  ];
  const [first] = moves;
  const alone = await scheduler.claimMoves(first ? [first] : []);
  expect(alone.noValidHost?.filters).toContainEqual(
    expect.objectContaining({ filter: 'group_affinity', reasons: { group_is_elsewhere: 3 } }),
  );
  expect(hostsOf(await scheduler.claimMoves(moves))).toEqual(['c', 'c', 'c']);
  for (const { move } of moves) {
    const [kept] = await world.placement.consumers([move.migrationUuid]);
    expect(kept).toMatchObject({ groupHost: 'a', groupKept: { movedTo: '' } });
  }
  // Nobody joins it before its moves are settled: some of it may come back.
  const joins = await scheduler.select({ ...requestSpec({ VCPU: 1 }, { ...WHO, group: AFFINITY }) });
  expect(joins.response.noValidHost?.summary).toContain('on a move');
});

it('moves none of an affinity group when no host takes all of it, and says which did not fit', async () => {
  for (const host of ['a', 'b', 'c']) await world.report(host);
  for (const host of ['b', 'c']) await world.occupy(host, { VCPU: 4 });
  const moves = [await onA(3, { group: AFFINITY }), await onA(2, { group: AFFINITY })];
  const { destinations, noValidHost } = await scheduler.claimMoves(moves);
  expect(destinations).toEqual([]);
  expect(noValidHost).toBeDefined();
  for (const { instanceUuid } of moves) expect((await holds(instanceUuid))?.[uuidOfHost('a')]).toBeDefined();
});

it('claims an affinity group elsewhere as one, and keeps nothing where it was, when it is evacuated', async () => {
  for (const host of ['a', 'b']) await world.report(host);
  const moves = [await onA(3, { group: AFFINITY }), await onA(2, { group: AFFINITY })];
  const evacuated = moves.map((one) => ({ ...one, move: undefined }));
  expect(hostsOf(await scheduler.claimMoves(evacuated))).toEqual(['b', 'b']);
  expect(hostsOf(await scheduler.claimMoves(evacuated))).toEqual(['b', 'b']);
  for (const { move } of moves) expect(await holds(move.migrationUuid)).toBeUndefined();
});
