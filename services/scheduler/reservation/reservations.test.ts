import { randomUUID } from 'node:crypto';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { inventory } from '#libs/domain/inventory';
import type { RequestSpec } from '#libs/domain/request-spec';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { commit, mustCommit } from '#libs/testing/placement/placement';
import { aWorld, hostsOf, type TestScheduler, uuidOfHost, type World } from '../testing/world';

const HOUR_MS = 3_600_000;
const OWNER = { projectId: 'owner', userId: 'user-1' };
const OTHER = { projectId: 'other', userId: 'user-2' };

let world: World;
let scheduler: TestScheduler;
beforeEach(async () => {
  world = aWorld();
  for (const host of ['a', 'b']) await world.report(host, { inventories: { VCPU: inventory(4) } });
  scheduler = await world.scheduler({ backfillMarginMs: 0 });
});
afterEach(() => world.close());

const inHours = (hours: number) => world.clock.now() + hours * HOUR_MS;

/** Reserves units of 2 VCPU for `owner` in a window by hours from now. */
function reserve({ count = 2, from = 1, until = 3, name = 'night', VCPU = 2, ...spec }: Partial<Terms> = {}) {
  const requestSpec = aRequestSpec({ resources: { VCPU }, ...OWNER, ...spec });
  return scheduler.reserve({ name, fromMs: inHours(from), untilMs: inHours(until), count, requestSpec });
}

type Terms = Partial<RequestSpec> & { count: number; from: number; until: number; name: string; VCPU: number };

async function build(VCPU: number, { hours = 0, count = 1, ...spec }: Partial<RequestSpec> & Build = {}) {
  await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  const limit = hours > 0 ? { timeLimitMs: hours * HOUR_MS } : {};
  return scheduler.select({ resources: { VCPU }, ...OTHER, ...spec }, count, 0, limit);
}

interface Build {
  readonly hours?: number;
  readonly count?: number;
}

const placed = async (...args: Parameters<typeof build>) => hostsOf(await build(...args)).length;
const hostOf = () => scheduler.mirror.reservations()[0]?.units.map(({ host }) => host);

it('keeps its units from what lasts into the window, and lets what ends before fill the gap', async () => {
  expect(await reserve({ count: 3 })).toMatchObject({ state: 'held', reason: '' });
  // Two VCPU are left beside it.
  expect(await placed(2)).toBe(1);
  expect(await placed(1)).toBe(0);
  expect(await placed(1, { hours: 2 })).toBe(0);
  expect(await placed(3, { hours: 1 })).toBe(1);
  expect(await placed(3, { hours: 1 })).toBe(0);
  expect(await placed(2, { hours: 0.5 })).toBe(1);
});

it('answers a copy of a call with what is there, and refuses another of the name', async () => {
  // All that the hosts have: nothing is free for the copy.
  const terms = { fromMs: inHours(1), untilMs: inHours(3), name: 'night', count: 4 };
  const requestSpec = aRequestSpec({ resources: { VCPU: 2 }, ...OWNER });
  const first = await scheduler.reserve({ ...terms, requestSpec });
  await world.clock.advance(1_000);
  expect(await scheduler.reserve({ ...terms, requestSpec })).toEqual(first);
  expect(scheduler.mirror.reservations()).toHaveLength(1);
  for (const other of [{ count: 1 }, { untilMs: inHours(4) }, { requestSpec: { ...requestSpec, ...OTHER } }]) {
    await expect(scheduler.reserve({ ...terms, requestSpec, ...other })).rejects.toMatchObject({
      code: expect.stringMatching(/already_exists|resource_exhausted/),
    });
  }
});

it('answers copies of a call to two schedulers at once with one reservation', async () => {
  const other = await world.scheduler();
  const requestSpec = aRequestSpec({ resources: { VCPU: 2 }, ...OWNER });
  const terms = { fromMs: inHours(1), untilMs: inHours(3), name: 'night', count: 2, requestSpec };
  const [one, copy] = await Promise.all([scheduler.reserve(terms), other.reserve(terms)]);
  expect(copy).toEqual(one);
  expect(scheduler.mirror.reservations()).toHaveLength(1);
});

it('takes what ends in time as free at its start', async () => {
  expect(await placed(4, { hours: 1, count: 2 })).toBe(2);
  expect(await reserve({ count: 4 })).toMatchObject({ state: 'held' });
  await expect(reserve({ count: 1, name: 'more' })).rejects.toMatchObject({ reason: 'no_room_to_reserve' });
  expect(await reserve({ count: 1, name: 'after', from: 3, until: 4 })).toMatchObject({ state: 'held' });
});

it('counts what waits for the margin of builds as lasting', async () => {
  const careful = await world.scheduler({ backfillMarginMs: 60_000 });
  await reserve({ count: 4 });
  const spec = { resources: { VCPU: 2 }, ...OTHER };
  expect(hostsOf(await careful.select(spec, 1, 0, { timeLimitMs: HOUR_MS }))).toEqual([]);
  expect(hostsOf(await careful.select(spec, 1, 0, { timeLimitMs: HOUR_MS - 60_000 }))).toHaveLength(1);
});

it('gives its units to those of its project that name it, in its window, and to nobody else', async () => {
  await reserve({ count: 4 });
  const own = { ...OWNER, reservation: 'night' };
  expect((await build(2, own)).response.noValidHost?.summary).toContain('reservation_not_open');
  await world.clock.advance(HOUR_MS);
  await refresh();
  expect(await placed(2)).toBe(0);
  expect(await placed(2, OWNER)).toBe(0);
  expect((await build(2, { ...OTHER, reservation: 'night' })).response.noValidHost?.summary).toContain(
    'no_such_reservation',
  );
  expect(await placed(2, { ...own, count: 4 })).toBe(4);
  expect(await placed(2, own)).toBe(0);
});

it('keeps a unit whose instance ended, and nothing after its window', async () => {
  await reserve({ count: 4 });
  await world.clock.advance(HOUR_MS);
  await refresh();
  const { response } = await build(2, { ...OWNER, reservation: 'night', count: 4 });
  const [first] = response.destinations;
  const { instanceUuid: consumerUuid, claimToken } = first ?? { instanceUuid: '', claimToken: 0 };
  await mustCommit(world.placement, { kind: 'release_claim', consumerUuid, claimToken });
  expect(await placed(1)).toBe(0);
  expect(await placed(2, { ...OWNER, reservation: 'night' })).toBe(1);
  await world.clock.advance(2 * HOUR_MS);
  await refresh();
  await scheduler.keepReservations();
  expect(scheduler.mirror.reservations()).toEqual([]);
  expect((await build(2, { ...OWNER, reservation: 'night' })).response.noValidHost?.summary).toContain(
    'no_such_reservation',
  );
});

it('gives no more than its units, though its hosts have more', async () => {
  await reserve({ count: 1 });
  await world.clock.advance(HOUR_MS);
  await refresh();
  const own = { ...OWNER, reservation: 'night' };
  const { response } = await build(2, { ...own, count: 2 });
  expect(response.destinations).toEqual([]);
  expect(await placed(2, own)).toBe(1);
  expect(await placed(2, own)).toBe(0);
  // Others have the rest.
  expect(await placed(2, { count: 3 })).toBe(3);
});

it('says in an explanation what is reserved, and by what', async () => {
  await reserve({ count: 4 });
  const { hosts, diagnosis } = scheduler.explain({ resources: { VCPU: 2 }, ...OTHER }, 'a');
  expect(hosts[0]?.refusals.join()).toContain(`4 kept by 'night' from `);
  expect(diagnosis.hostsPassed).toBe(0);
  const short = { timeLimitMs: HOUR_MS };
  expect(scheduler.explain({ resources: { VCPU: 2 }, ...OTHER }, '', 10, short).diagnosis.hostsPassed).toBe(2);
});

it('moves units off a host that is down, and says so while there is no other', async () => {
  await world.report('c', { inventories: { VCPU: inventory(4) } });
  await reserve({ count: 2, VCPU: 4 });
  const before = hostOf() ?? [];
  const [lost = ''] = before;
  await disable(lost);
  await scheduler.keepReservations();
  expect(new Set(hostOf())).toEqual(new Set(['a', 'b', 'c'].filter((host) => host !== lost)));
  const [next = ''] = (hostOf() ?? []).filter((host) => !before.includes(host));
  await disable(next);
  await scheduler.keepReservations();
  const [row] = scheduler.mirror.reservations();
  expect(row?.units.filter(({ host }) => host === '')).toHaveLength(1);
  expect(row?.reason).toContain(`host ${next} is disabled`);
  await commit(world.placement, { kind: 'set_host_enabled', host: next, enabled: true, reason: '' });
  await refresh();
  await scheduler.keepReservations();
  expect(hostOf()).not.toContain('');
  expect(scheduler.mirror.reservations()[0]?.reason).toBe('');
});

it('is at risk when something took its room by force', async () => {
  await reserve({ count: 4 });
  await world.force('a', { VCPU: 1 });
  await refresh();
  await scheduler.keepReservations();
  const [row] = scheduler.mirror.reservations();
  expect(row?.units.map(({ host }) => host).toSorted()).toEqual(['', 'a', 'b', 'b']);
  expect(row?.reason).toContain('host a lacks VCPU');
});

it('does not hold back an instance of it that leaves a dead host', async () => {
  await reserve({ count: 1 });
  await world.clock.advance(HOUR_MS);
  await refresh();
  const uuid = randomUUID();
  const own = { resources: { VCPU: 2 }, ...OWNER, reservation: 'night' };
  const [from = ''] = hostsOf(await scheduler.select(own, [uuid]));
  const [to] = hostsOf(await scheduler.select({ ...own, ignoreHosts: [from] }, [uuid]));
  expect(new Set([from, to])).toEqual(new Set(['a', 'b']));
});

it('leaves the last room beside it to one of two schedulers', async () => {
  await reserve({ count: 3 });
  const other = await world.scheduler({ backfillMarginMs: 0 });
  const spec = { resources: { VCPU: 2 }, ...OTHER };
  const both = await Promise.all([scheduler.select(spec), other.select(spec)]);
  expect(both.flatMap(hostsOf)).toHaveLength(1);
});

it('keeps what the spec says of hosts', async () => {
  await world.report('c', { inventories: { VCPU: inventory(8) }, traits: ['HW_CPU_X86_AVX2'] });
  await reserve({ count: 3, requiredTraits: ['HW_CPU_X86_AVX2'] });
  expect(new Set(hostOf())).toEqual(new Set(['c']));
  const spec = scheduler.mirror.reservations()[0]?.requestSpec ?? '';
  expect(requestSpecCodec.decode(Buffer.from(spec, 'base64')).requiredTraits).toEqual(['HW_CPU_X86_AVX2']);
  expect(uuidOfHost('c')).toBe(scheduler.mirror.reservations()[0]?.units[0]?.rootUuid);
});

async function disable(host: string): Promise<void> {
  await commit(world.placement, { kind: 'set_host_enabled', host, enabled: false, reason: 'broken' });
  await refresh();
}

/** Hosts report again, and the mirror has all. */
async function refresh(): Promise<void> {
  for (const host of ['a', 'b']) await world.report(host, { inventories: { VCPU: inventory(4) } });
  await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
}
