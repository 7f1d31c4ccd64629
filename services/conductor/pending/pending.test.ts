import type { Running } from '#libs/runtime/service';
import { ConductorWorld } from '../testing/conductor-world';

let world: ConductorWorld;
const conductors: Running[] = [];

beforeEach(async () => {
  world = new ConductorWorld();
  await world.open({ h1: 1 });
  conductors.push(await world.conductor());
});

afterEach(async () => {
  await world.closed(...conductors.splice(0));
});

const WAITS = { waitForCapacityMs: 60_000 };

/** A request of one instance; answers its uuid. */
async function request(admission = {}, projectId = 'project-1'): Promise<string> {
  const before = new Set((await world.all()).map(({ uuid }) => uuid));
  await world.request(1, undefined, undefined, { admission, projectId });
  await world.clock.advance(10);
  return (await world.all()).find(({ uuid }) => !before.has(uuid))?.uuid ?? '';
}

const recordOf = async (uuid: string) => (await world.instances.get([uuid]))[0];
const stateOf = async (uuid: string) => (await recordOf(uuid))?.state;

/** The one that runs is terminated, and whoever waits has a turn. */
async function release(uuid: string): Promise<void> {
  await world.terminate(uuid);
  await world.clock.advance(2_000);
}

it('waits for capacity, holding nothing, and is built when it is freed', async () => {
  const first = await request();
  const waiting = await request(WAITS);
  expect(await recordOf(waiting)).toMatchObject({
    state: 'pending',
    fault: { reason: 'no_valid_host' },
    waiting: { waitsFor: ['capacity_vcpu'] },
  });
  expect(await world.claims()).toEqual([`${first} h1`]);
  await release(first);
  expect(await recordOf(waiting)).toMatchObject({ state: 'active', host: 'h1', waiting: undefined, fault: undefined });
  const told = world.events.filter(({ instanceUuid }) => instanceUuid === waiting).map(({ state }) => state);
  expect(told).toEqual(['scheduling', 'pending', 'building', 'active']);
});

it('ends in error as ever when the request does not want to wait', async () => {
  await request();
  expect(await stateOf(await request())).toBe('error');
});

it('ends with what was lacking when its time is over', async () => {
  await request();
  const waiting = await request({ waitForCapacityMs: 5_000 });
  await world.clock.advance(10_000);
  const record = await recordOf(waiting);
  expect(record?.state).toBe('error');
  expect(record?.fault).toEqual({
    reason: 'no_valid_host',
    message: 'waited 5 s for capacity: 0 of 3 hosts fit',
  });
});

it('is tried again by nothing but a change that could help', async () => {
  const first = await request();
  const waiting = await request(WAITS);
  await world.clock.advance(2_000);
  const count = () => world.asked.filter((uuids) => uuids.includes(waiting)).length;
  const before = count();
  // An audit, reports and turns go by.
  await world.clock.advance(30_000);
  expect(count()).toBe(before);
  await release(first);
  expect(count()).toBe(before + 1);
});

it('asks once for all that want the same and are refused', async () => {
  await request();
  const waiting = [];
  for (let n = 0; n < 10; n++) waiting.push(await request(WAITS));
  await world.clock.advance(2_000);
  world.asked.length = 0;
  // More room than before, which is none for them: a host that is taken at once.
  await world.open({ h2: 1 });
  world.hosts = [];
  await world.clock.advance(2_000);
  expect(world.asked).toHaveLength(1);
});

it('takes them by priority, then by turns of the projects, then by arrival', async () => {
  await conductors.pop()?.close();
  conductors.push(await world.conductor(undefined, { BERTH_CONDUCTOR_MAX_PRIORITY: '100' }));
  const first = await request();
  const oldest = await request(WAITS);
  const second = await request(WAITS);
  const others = await request(WAITS, 'project-2');
  const high = await request({ ...WAITS, priority: 5 }, 'project-3');
  const order = [];
  for (let last = first; order.length < 4; last = order.at(-1) ?? '') {
    await release(last);
    const active = (await world.all()).filter(({ state }) => state === 'active').map(({ uuid }) => uuid);
    expect(active).toHaveLength(1);
    order.push(active[0] ?? '');
  }
  expect(order).toEqual([high, oldest, others, second]);
});

/** A scheduler's word on two projects, on a fleet of ten processors. */
function sharesOf(lately: Readonly<Record<string, number>>): typeof world.fairShares {
  const shares = Object.entries(lately).map(([projectId, share], n) => {
    const now = { now: 0, nowClass: '', latelyClass: 'VCPU', gainedAtMs: world.clock.now() };
    return { projectId, weight: 1, ...now, lately: share, rank: n + 1 };
  });
  return { halfLifeMs: 3_600_000, atMs: world.clock.now(), shares, capacity: { VCPU: 10 }, defaultWeight: 1 };
}

it('takes those first whose project used less lately, and says by which number', async () => {
  const first = await request();
  world.fairShares = sharesOf({ heavy: 0.5, light: 0.125 });
  const heavy = await request(WAITS, 'heavy');
  const light = await request(WAITS, 'light');
  const next = await request(WAITS, 'light');
  const unknown = await request(WAITS, 'new');
  await world.clock.advance(6_000);
  const views = await Promise.all([unknown, light, next, heavy].map((uuid) => world.view(uuid)));
  expect(views.map((view) => view?.waiting?.place)).toEqual([1, 2, 3, 4]);
  expect(views[2]?.waiting?.standing).toMatchObject({ number: 0.225, lately: 0.125, weight: 1, ahead: 0.1 });
  const order = [];
  for (let last = first; order.length < 4; last = order.at(-1) ?? '') {
    await release(last);
    order.push(...(await world.all()).filter(({ state }) => state === 'active').map(({ uuid }) => uuid));
  }
  expect(order).toEqual([unknown, light, next, heavy]);
});

it('goes by the last known shares while no scheduler answers, and by turns once they are switched off', async () => {
  await request();
  world.fairShares = sharesOf({ heavy: 0.5 });
  const heavy = await request(WAITS, 'heavy');
  const light = await request(WAITS, 'light');
  await world.clock.advance(6_000);
  const placeOf = async (uuid: string) => (await world.view(uuid))?.waiting?.place;
  expect(await placeOf(light)).toBe(1);
  world.fairShares = { ...world.fairShares, halfLifeMs: 0 };
  await world.clock.advance(6_000);
  expect([await placeOf(heavy), await placeOf(light)]).toEqual([1, 2]);
  expect((await world.view(light))?.waiting?.standing).toBeUndefined();
});

it('goes on waiting when its conductor dies, and another gives it its turn', async () => {
  const first = await request();
  const waiting = await request(WAITS);
  await conductors.pop()?.close();
  await world.terminate(first);
  conductors.push(await world.conductor());
  await world.clock.advance(12_000);
  expect(await stateOf(waiting)).toBe('active');
});

it('finds a claim that was made for it when the answer was lost', async () => {
  const first = await request();
  const waiting = await request(WAITS);
  await conductors.pop()?.close();
  await world.placement.commit({
    kind: 'write_allocations',
    atMs: 0,
    consumers: [{ ...world.writeFor(waiting, 'h1'), expect: { kind: 'absent' } }],
    force: true,
  });
  conductors.push(await world.conductor());
  await world.clock.advance(12_000);
  expect(await stateOf(waiting)).toBe('active');
  expect(await world.claims()).toEqual([`${first} h1`, `${waiting} h1`].sort());
});

it('can be terminated while it waits', async () => {
  await request();
  const waiting = await request(WAITS);
  await world.terminate(waiting);
  await world.clock.advance(100);
  expect(await stateOf(waiting)).toBe('deleted');
});

it('refuses to wait when as many wait as may', async () => {
  await conductors.pop()?.close();
  conductors.push(await world.conductor(undefined, { BERTH_CONDUCTOR_MAX_PENDING: '1' }));
  await request();
  expect(await stateOf(await request(WAITS))).toBe('pending');
  expect(await recordOf(await request(WAITS))).toMatchObject({ state: 'error', fault: { reason: 'pending_full' } });
});

it('shows the place in the queue, and when a time limit will end one that holds as much', async () => {
  const first = await request({ timeLimitMs: 30_000 });
  const waiting = [await request(WAITS), await request(WAITS)];
  const endsAtMs = (await recordOf(first))?.endsAtMs;
  const [one, other] = await Promise.all(waiting.map((uuid) => world.view(uuid)));
  expect(one?.waiting).toMatchObject({ place: 1, waitsFor: ['capacity_vcpu'], expectedAtMs: endsAtMs });
  expect(other?.waiting).toMatchObject({ place: 2, expectedAtMs: 0 });
});

it('ends an instance by its time limit, and whoever waits has its place', async () => {
  const first = await request({ timeLimitMs: 20_000 });
  const waiting = await request(WAITS);
  await world.clock.advance(19_000);
  expect(await stateOf(first)).toBe('active');
  await world.clock.advance(5_000);
  expect(await recordOf(first)).toMatchObject({ state: 'deleted', fault: { reason: 'time_limit' } });
  expect(await stateOf(waiting)).toBe('active');
  expect(world.harmed).toEqual([]);
});

it('lets the time go by for what is stopped, too', async () => {
  const first = await request({ timeLimitMs: 20_000 });
  void world.operate(first, 'stop');
  await world.clock.advance(1_000);
  expect(await stateOf(first)).toBe('stopped');
  await world.clock.advance(25_000);
  expect(await stateOf(first)).toBe('deleted');
});

it('lets nobody who may wait overtake those who do', async () => {
  const first = await request();
  const oldest = await request(WAITS);
  await world.clock.advance(2_000);
  await world.terminate(first);
  // Before the queue has had its turn.
  await world.clock.advance(0);
  const newcomer = await request(WAITS);
  expect(await stateOf(newcomer)).toBe('pending');
  await world.clock.advance(2_000);
  expect([await stateOf(oldest), await stateOf(newcomer)]).toEqual(['active', 'pending']);
  const told = world.events.filter(({ instanceUuid }) => instanceUuid === newcomer).map(({ state }) => state);
  expect(new Set(told)).toEqual(new Set(['pending']));
  // It was not tried itself: what it waits for is what the other of its shape was refused for.
  expect((await recordOf(newcomer))?.waiting?.waitsFor).toEqual(['capacity_vcpu']);
});

it('gives no project more than its share of the places, and says so', async () => {
  await conductors.pop()?.close();
  const settings = { BERTH_CONDUCTOR_MAX_PENDING: '10', BERTH_CONDUCTOR_PENDING_SHARE: '30' };
  conductors.push(await world.conductor(undefined, settings));
  await request();
  const ofOne = [];
  for (let n = 0; n < 5; n++) ofOne.push(await request(WAITS));
  expect(await Promise.all(ofOne.map(stateOf))).toEqual(['pending', 'pending', 'pending', 'error', 'error']);
  expect((await recordOf(ofOne[4] ?? ''))?.fault).toMatchObject({
    reason: 'pending_full',
    message: expect.stringContaining('BERTH_CONDUCTOR_PENDING_SHARE') as string,
  });
  expect(await stateOf(await request(WAITS, 'project-2'))).toBe('pending');
  // All of one request ask at once.
  const before = new Set((await world.all()).map(({ uuid }) => uuid));
  await world.request(5, undefined, undefined, { admission: WAITS, projectId: 'project-3' });
  await world.clock.advance(10);
  const states = (await world.all()).filter(({ uuid }) => !before.has(uuid)).map(({ state }) => state);
  expect(states.toSorted()).toEqual(['error', 'error', 'pending', 'pending', 'pending']);
});
