import { BUILD_REQUESTS } from '#libs/contracts/queues';
import type { Running } from '#libs/runtime/service';
import { ConductorWorld } from '../testing/conductor-world';

let world: ConductorWorld;
const conductors: Running[] = [];
const HIGH = { waitForCapacityMs: 60_000, priority: 50, mayPreempt: true };
const SETTINGS = { BERTH_CONDUCTOR_MAX_PRIORITY: '100', BERTH_CONDUCTOR_PENDING_RETRY_MS: '5000' };
const start = () => world.conductor(undefined, SETTINGS);

beforeEach(async () => {
  world = new ConductorWorld();
  await world.open({ h1: 1 });
  conductors.push(await start());
});

afterEach(async () => {
  await world.closed(...conductors.splice(0));
});

async function request(admission = {}): Promise<string> {
  const before = new Set((await world.all()).map(({ uuid }) => uuid));
  await world.request(1, undefined, undefined, { admission });
  await world.clock.advance(10);
  return (await world.all()).find(({ uuid }) => !before.has(uuid))?.uuid ?? '';
}

/** Says to the scheduler whose place one that waits could take. */
const offer = (...uuids: string[]) => {
  world.preemption = { host: 'h1', victims: uuids.map((instanceUuid) => ({ instanceUuid, priority: 0 })) };
};

const recordOf = async (uuid: string) => (await world.instances.get([uuid]))[0];
const stateOf = async (uuid: string) => (await recordOf(uuid))?.state;

it('takes the place of one of a lower priority, which is told by whom', async () => {
  const low = await request();
  offer(low);
  const high = await request(HIGH);
  expect(await stateOf(high)).toBe('pending');
  await world.clock.advance(3_000);
  expect(await recordOf(low)).toMatchObject({ state: 'deleted', fault: { reason: 'preempted' } });
  expect((await recordOf(low))?.fault?.message).toContain(high);
  expect(await recordOf(high)).toMatchObject({ state: 'active', host: 'h1' });
  expect(await world.claims()).toEqual([`${high} h1`]);
  expect(world.harmed).toEqual([]);
});

it('leaves all of them when the budget of their group spares too few, until it does', async () => {
  world.group = { id: 'web', policy: 'soft-anti-affinity', maxPerHost: 1 };
  world.groupMetadata = { min_available: '1' };
  const low = await request();
  offer(low);
  const high = await request(HIGH);
  await world.clock.advance(12_000);
  expect(await stateOf(low)).toBe('active');
  expect(await stateOf(high)).toBe('pending');
  world.groupMetadata = { min_available: '0' };
  await world.clock.advance(12_000);
  expect(await stateOf(low)).toBe('deleted');
  expect(await stateOf(high)).toBe('active');
});

it('has one that wants it wait again, and builds it again later', async () => {
  const low = await request({ isRequeued: true, waitForCapacityMs: 600_000 });
  offer(low);
  const high = await request(HIGH);
  await world.clock.advance(3_000);
  expect(await recordOf(low)).toMatchObject({ state: 'pending', fault: { reason: 'no_valid_host' }, host: undefined });
  expect((await recordOf(low))?.attempts.at(-1)).toMatchObject({ outcome: 'preempted', host: 'h1' });
  const told = world.events
    .filter(({ instanceUuid }) => instanceUuid === low)
    .map(({ state, fault }) => [state, fault]);
  expect(told.find(([state]) => state === 'preempting')?.[1]).toMatchObject({ reason: 'preempted' });
  await world.terminate(high);
  await world.clock.advance(3_000);
  expect(await recordOf(low)).toMatchObject({ state: 'active', host: 'h1' });
  expect(world.runs()).toEqual([`${low} h1`]);
});

it('is not built by the claim that was released, when a scheduler still answers with that', async () => {
  const low = await request({ isRequeued: true, waitForCapacityMs: 600_000 });
  const [held] = await world.placement.consumers([low]);
  offer(low);
  const high = await request(HIGH);
  await world.clock.advance(3_000);
  world.staleClaim = held?.claimToken;
  await world.terminate(high);
  await world.clock.advance(3_000);
  expect(await stateOf(low)).toBe('pending');
  world.staleClaim = undefined;
  await world.clock.advance(60_000);
  expect(await stateOf(low)).toBe('active');
  expect(await world.claims()).toEqual([`${low} h1`]);
});

it.each([
  ['ends', {}, 'deleting'],
  ['waits again', { isRequeued: true, waitForCapacityMs: 600_000 }, 'preempting'],
])('claims nothing before a victim that %s has released what it held', async (_, admission, state) => {
  const low = await request(admission);
  world.behaviour.set('h1', 'is silent');
  offer(low);
  const high = await request(HIGH);
  world.heedsDestroy = false;
  await world.clock.advance(2_000);
  expect(await stateOf(low)).toBe(state);
  expect(await world.claims()).toEqual([`${low} h1`]);
  expect((await world.view(high))?.waiting).toMatchObject({ preemptingOn: 'h1', victims: [low] });
});

it.each([
  ['of its own priority', { priority: 50 }],
  ['of a higher one', { priority: 51 }],
  ['that is protected', { isProtected: true }],
])('leaves one alone %s, whatever a scheduler says', async (_, admission) => {
  const other = await request(admission);
  offer(other);
  const high = await request(HIGH);
  await world.clock.advance(5_000);
  expect(await stateOf(other)).toBe('active');
  expect(await stateOf(high)).toBe('pending');
  expect(world.destroys).toEqual([]);
});

it('ends when its time is over, though somebody who does not go is offered again and again', async () => {
  const other = await request({ isProtected: true });
  offer(other);
  const high = await request(HIGH);
  // Whoever goes has two of its 10 s to do so.
  await world.clock.advance(HIGH.waitForCapacityMs + 30_000);
  expect(await stateOf(high)).toBe('error');
  expect(await stateOf(other)).toBe('active');
});

it('takes back from one of its own priority what its project has lent, and says so', async () => {
  const borrower = await request({ priority: 50 });
  offer(borrower);
  world.preemption = world.preemption && { ...world.preemption, reclaims: true };
  const high = await request(HIGH);
  await world.clock.advance(3_000);
  expect(await recordOf(borrower)).toMatchObject({ state: 'deleted', fault: { reason: 'reclaimed' } });
  expect((await recordOf(borrower))?.fault?.message).toContain(high);
  expect(await stateOf(high)).toBe('active');
});

it('takes nothing back from one that is protected, whatever a scheduler says', async () => {
  const borrower = await request({ isProtected: true });
  offer(borrower);
  world.preemption = world.preemption && { ...world.preemption, reclaims: true };
  await request(HIGH);
  await world.clock.advance(5_000);
  expect(await stateOf(borrower)).toBe('active');
});

it('takes places for several instances at once', async () => {
  await world.open({ h2: 1 });
  world.hosts = ['h1', 'h2'];
  const low = [await request(), await request()];
  offer(...low);
  world.preemption = world.preemption && { ...world.preemption, furtherHosts: ['h2'] };
  await world.request(2, undefined, undefined, { admission: HIGH });
  await world.clock.advance(10);
  const high = (await world.all()).filter(({ admission }) => admission?.mayPreempt);
  world.heedsDestroy = false;
  await world.clock.advance(2_000);
  expect(await Promise.all(high.map(({ uuid }) => stateOf(uuid)))).toEqual(['pending', 'pending']);
  expect((await world.view(high[0]?.uuid ?? ''))?.waiting).toMatchObject({ preemptingOnFurther: ['h2'] });
  world.heedsDestroy = true;
  await world.clock.advance(25_000);
  expect(await Promise.all(low.map(stateOf))).toEqual(['deleted', 'deleted']);
  expect(await Promise.all(high.map(({ uuid }) => stateOf(uuid)))).toEqual(['active', 'active']);
});

it("asks for nobody's place unless its request says that it may", async () => {
  const low = await request();
  offer(low);
  await request({ ...HIGH, mayPreempt: false });
  await world.clock.advance(5_000);
  expect(await stateOf(low)).toBe('active');
});

it('goes on where a conductor died after the preemption was on record', async () => {
  const low = await request();
  await conductors.pop()?.close();
  conductors.push(
    await world.conductor(
      (deps) => ({
        ...deps,
        instances: {
          ...deps.instances,
          update: async (next) => {
            if (next.uuid === low) throw new Error('dies here');
            return deps.instances.update(next);
          },
        },
      }),
      { BERTH_CONDUCTOR_MAX_PRIORITY: '100' },
    ),
  );
  await world.clock.advance(12_000);
  offer(low);
  const high = await request(HIGH);
  await world.clock.advance(2_000);
  expect((await recordOf(high))?.waiting?.preemption).toMatchObject({ victims: [low] });
  expect(await stateOf(low)).toBe('active');
  await conductors.pop()?.close();
  conductors.push(await start());
  await world.clock.advance(15_000);
  expect([await stateOf(low), await stateOf(high)]).toEqual(['deleted', 'active']);
});

it('refuses a priority above what the project may use', async () => {
  const before = (await world.all()).length;
  await world.request(1, undefined, undefined, { admission: { priority: 101 } });
  await world.clock.advance(10);
  world.defaultLimits = { priority: 10 };
  await world.request(1, undefined, undefined, { admission: { priority: 50 } });
  await world.clock.advance(10);
  expect((await world.all()).length).toBe(before);
  await world.request(1, undefined, undefined, { admission: { priority: 10 } });
  await world.clock.advance(10);
  expect((await world.all()).length).toBe(before + 1);
  expect(await world.bus.depth(BUILD_REQUESTS.name)).toBe(0);
});

it('holds up nobody who fits elsewhere while a host does not make room', async () => {
  const low = await request();
  offer(low);
  const high = await request(HIGH);
  world.heedsDestroy = false;
  await world.clock.advance(2_000);
  world.preemption = undefined;
  const other = await request({ waitForCapacityMs: 600_000 });
  await world.clock.advance(2_000);
  expect([await stateOf(low), await stateOf(high), await stateOf(other)]).toEqual(['deleting', 'pending', 'pending']);
  await world.open({ h2: 1 });
  world.hosts = ['h2'];
  const asked = world.asked.length;
  await world.clock.advance(2_000);
  expect(await stateOf(other)).toBe('active');
  expect(world.asked.slice(asked).flat()).not.toContain(high);
  expect(await stateOf(high)).toBe('pending');
});

it('does not wait for a host that is known to be down', async () => {
  const low = await request();
  offer(low);
  const high = await request(HIGH);
  world.heedsDestroy = false;
  await world.clock.advance(2_000);
  expect(await stateOf(low)).toBe('deleting');
  await world.setUp('h1', false);
  await world.open({ h2: 1 });
  world.hosts = ['h2'];
  await world.clock.advance(2_000);
  expect([await stateOf(low), await stateOf(high)]).toEqual(['deleted', 'active']);
});

it('lets one preempt behind another that can never fit', async () => {
  const low = await request();
  await world.request(1, undefined, undefined, { admission: { ...HIGH, priority: 60 }, ignoreHosts: ['h1'] });
  await world.clock.advance(2_000);
  const never = (await world.all()).filter(({ uuid }) => uuid !== low).map(({ uuid }) => uuid);
  expect(await Promise.all(never.map(stateOf))).toEqual(['pending']);
  offer(low);
  const preempting = world.preemption;
  world.preemptionFor = (uuids) => (uuids.some((uuid) => never.includes(uuid)) ? undefined : preempting);
  const later = await request(HIGH);
  await world.clock.advance(5_000);
  expect([await stateOf(low), await stateOf(later)]).toEqual(['deleted', 'active']);
  expect(await Promise.all(never.map(stateOf))).toEqual(['pending']);
});
