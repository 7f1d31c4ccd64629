import { randomUUID } from 'node:crypto';
import type { Guarantee } from '#libs/domain/grouping/guarantee';
import { inventory } from '#libs/domain/inventory';
import { type RequestSpec, requestSpec } from '#libs/domain/request-spec';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { mustCommit } from '#libs/testing/placement/placement';
import type { HostState } from '../fleet/host-state';
import { aWorld, classified, hostsOf, type TestScheduler, type World } from '../testing/world';
import { HostRules } from './host-rules';

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

const WHO = { projectId: 'project-1', userId: 'user-1' };
const ONE_RACK: Omit<Guarantee, 'updatedAtMs'> = {
  name: 'rack',
  lose: 'rack',
  count: 1,
  aggregate: '',
  minPriority: 0,
  policy: 'refuse',
};

/** Racks of hosts with 4 VCPU each. */
async function racks(shape: Readonly<Record<string, readonly string[]>>, vcpus = 4): Promise<void> {
  for (const [rack, hosts] of Object.entries(shape)) {
    for (const host of hosts) await world.report(host, { inventories: { VCPU: inventory(vcpus) } });
    await world.aggregate(rack, { rack }, ...hosts);
  }
}

async function guarantee(fields: Partial<Guarantee> = {}): Promise<void> {
  await mustCommit(world.placement, { kind: 'write_guarantee', guarantee: { ...ONE_RACK, ...fields } });
}

async function build(scheduler: TestScheduler, count: number, spec: Partial<RequestSpec> = {}, priority = 0) {
  await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  return scheduler.select({ resources: { VCPU: 1 }, ...WHO, ...spec }, count, 0, { priority });
}

/** Reads, as from records, what others have placed. */
async function learnAll(scheduler: TestScheduler): Promise<void> {
  await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  scheduler.guarantees.bring(world.clock.now());
  for (const uuid of scheduler.guarantees.unread()) {
    const { claimToken = 0 } = scheduler.mirror.consumer(uuid) ?? {};
    scheduler.guarantees.learn(uuid, classified({ resources: { VCPU: 1 }, ...WHO }), claimToken);
  }
}

const brokenOf = (scheduler: TestScheduler) => {
  scheduler.guarantees.bring(world.clock.now());
  return scheduler.guarantees.kept.flatMap(({ losses }) =>
    losses.filter(({ witness }) => witness.unplaced.size > 0).map(({ loss }) => loss.domains.join()),
  );
};

it('places until the loss of a rack could not be taken in, and says why no more', async () => {
  await racks({ r1: ['a', 'b'], r2: ['c', 'd'], r3: ['e', 'f'] });
  await guarantee();
  const scheduler = await world.scheduler();
  // 24 in all, of which 8 stay free for any one rack.
  for (let n = 0; n < 16; n++) expect(hostsOf(await build(scheduler, 1))).toHaveLength(1);
  const { response } = await build(scheduler, 1);
  expect(response.noValidHost?.filters).toEqual([
    { filter: 'guarantee', refused: 6, reasons: { no_failover_capacity: 6 } },
  ]);
  expect(response.noValidHost?.summary).toMatch(/guarantee 'rack' .*if r\d were lost, an instance would have no place/);
  expect(brokenOf(scheduler)).toEqual([]);
});

it('costs nothing and refuses nothing without a guarantee, and again once it is gone', async () => {
  await racks({ r1: ['a'], r2: ['b'] });
  const scheduler = await world.scheduler();
  await build(scheduler, 8);
  await guarantee();
  expect((await build(scheduler, 1)).response.noValidHost).toBeDefined();
  await mustCommit(world.placement, { kind: 'delete_guarantee', name: 'rack' });
  await world.report('c', { inventories: { VCPU: inventory(1) } });
  expect(hostsOf(await build(scheduler, 1))).toEqual(['c']);
});

it('takes all of a request or nothing, and leaves no trace of what it refused', async () => {
  await racks({ r1: ['a'], r2: ['b'] });
  await guarantee();
  const scheduler = await world.scheduler();
  expect((await build(scheduler, 5)).response.noValidHost).toBeDefined();
  expect(hostsOf(await build(scheduler, 4))).toHaveLength(4);
  expect(brokenOf(scheduler)).toEqual([]);
});

it('finds the host whose rack may be lost, where others may not', async () => {
  await racks({ r1: ['a'], r2: ['b'] });
  // Only b has it, and only b can be lost with an instance that nobody else can take.
  await world.report('b', { inventories: { VCPU: inventory(64), CUSTOM_GOLD: inventory(4) } });
  await guarantee();
  const scheduler = await world.scheduler();
  const gold = await build(scheduler, 1, { resources: { CUSTOM_GOLD: 1 } });
  expect(gold.response.noValidHost?.summary).toContain('if r2 were lost');
  // The best host would be b: its 5 would not fit on a.
  expect(hostsOf(await build(scheduler, 2, { resources: { VCPU: 2 } }))).toHaveLength(2);
});

it('explains which loss a host would not stand, and what would have to be free', async () => {
  await racks({ r1: ['a'], r2: ['b'] });
  await guarantee();
  const scheduler = await world.scheduler();
  await build(scheduler, 4);
  scheduler.guarantees.bring(world.clock.now());
  const places = () => scheduler.guarantees.kept[0]?.losses.map(({ witness }) => [...witness.places()].length);
  const before = places();
  const all = scheduler.explain({ resources: { VCPU: 1 }, ...WHO });
  expect(all.diagnosis.hostsPassed).toBe(0);
  expect(all.diagnosis.filters).toContainEqual(expect.objectContaining({ reasons: { no_failover_capacity: 2 } }));
  expect(all.diagnosis.summary).toMatch(
    /if r\d were lost, an instance would have no place; 1 VCPU more free on [ab] would do/,
  );
  const [one] = scheduler.explain({ resources: { VCPU: 1 }, ...WHO }, 'a').hosts;
  expect(JSON.stringify(one)).toContain("guarantee 'rack' would not stand the loss of");
  expect(places()).toEqual(before);
  await mustCommit(world.placement, { kind: 'delete_guarantee', name: 'rack' });
  await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  expect(scheduler.explain({ resources: { VCPU: 1 }, ...WHO }).diagnosis.hostsPassed).toBe(2);
});

it('flags where the policy says so', async () => {
  await racks({ r1: ['a'], r2: ['b'] });
  await guarantee({ policy: 'flag' });
  const scheduler = await world.scheduler();
  expect(hostsOf(await build(scheduler, 6))).toHaveLength(6);
  expect(scheduler.noted).toEqual([expect.stringContaining("flagged: guarantee 'rack'")]);
  expect(brokenOf(scheduler).length).toBeGreaterThan(0);
});

it('guarantees no instance of a lower priority, and keeps places of others from it', async () => {
  await racks({ r1: ['a'], r2: ['b'] });
  await guarantee({ minPriority: 5 });
  const scheduler = await world.scheduler();
  await build(scheduler, 2, {}, 5);
  expect(hostsOf(await build(scheduler, 4, {}, 0))).toHaveLength(4);
  expect(brokenOf(scheduler)).toEqual([]);
  expect((await build(scheduler, 2, {}, 5)).response.noValidHost).toBeDefined();
});

it('counts amounts of flat hosts instead of placing anew all that a witness has there, with the default filters', async () => {
  await racks({ r1: ['a'] });
  await world.occupy('a', { VCPU: 1 });
  const { fleet, mirror, settings } = await world.scheduler();
  const rules = new HostRules(fleet, settings);
  const before = fleet.newestAt(0) as HostState;
  await world.occupy('a', { VCPU: 1 });
  await mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  const after = fleet.snapshot(world.clock.now()).at(0) as HostState;
  expect(rules.shift(before, after, before)?.free).toEqual(after.free);
});

it('keeps anti-affinity in the witness', async () => {
  await racks({ r1: ['a'], r2: ['b'], r3: ['c'] });
  await guarantee();
  const scheduler = await world.scheduler();
  const group = { id: 'web', policy: 'anti-affinity', maxPerHost: 1 } as const;
  expect(hostsOf(await build(scheduler, 2, { group }))).toHaveLength(2);
  const third = await build(scheduler, 1, { group });
  expect(third.response.noValidHost?.summary).toContain('no_failover_capacity');
});

it('moves an affinity group together', async () => {
  await racks({ r1: ['a'], r2: ['b'], r3: ['c'] });
  await guarantee();
  const scheduler = await world.scheduler();
  const group = { id: 'db', policy: 'affinity', maxPerHost: 1 } as const;
  const three = await build(scheduler, 3, { group });
  const [host = ''] = hostsOf(three);
  // Two on each of the others leave room for four in all, and nowhere for three together.
  const others = ['a', 'b', 'c'].filter((one) => one !== host);
  for (const other of others) await build(scheduler, 1, { forceHosts: [other] });
  const more = await build(scheduler, 1, { forceHosts: [others[0] ?? ''] });
  expect(hostsOf(more)).toHaveLength(1);
  expect((await build(scheduler, 1, { forceHosts: [others[1] ?? ''] })).response.noValidHost).toBeDefined();
  expect(brokenOf(scheduler)).toEqual([]);
});

it('admits no more by two schedulers at once than by one', async () => {
  await racks({ r1: ['a'], r2: ['b'] });
  await guarantee();
  const holding = { guaranteeTurnMs: 50 };
  const [one, other] = [await world.scheduler(holding), await world.scheduler(holding)];
  // Neither hears of the other before both are asked.
  const selecting = [one, other].map((scheduler) => scheduler.select({ resources: { VCPU: 1 }, ...WHO }, 3));
  await Promise.race(selecting);
  await world.clock.advance(50);
  const selected = await Promise.all(selecting);
  expect(selected.flatMap(hostsOf)).toHaveLength(3);
  expect(selected.map(({ response }) => response.noValidHost?.summary ?? '').join()).toContain('no_failover_capacity');
  for (const scheduler of [one, other]) expect(brokenOf(scheduler)).toEqual([]);
});

it('has a claim decided again whose turn another has taken meanwhile', async () => {
  await racks({ r1: ['a'], r2: ['b'] });
  await guarantee();
  const other = await world.scheduler();
  const others: string[] = [];
  const slow = heldUpStore(world.placement, async () => {
    if (others.length === 0) others.push(...hostsOf(await build(other, 4)));
  });
  const late = await world.scheduler({}, slow);
  const { response, conflicts } = await late.select({ resources: { VCPU: 1 }, ...WHO }, 1);
  expect(others).toHaveLength(4);
  expect(conflicts).toBe(1);
  expect(response.noValidHost?.summary).toContain('no_failover_capacity');
});

it('lets another wait for its turn, and then go on', async () => {
  await racks({ r1: ['a'], r2: ['b'], r3: ['c'] });
  await guarantee();
  const holding = { guaranteeTurnMs: 1_000 };
  const [one, other] = [await world.scheduler(holding), await world.scheduler(holding)];
  expect(hostsOf(await build(one, 1))).toHaveLength(1);
  await other.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  const waiting = other.select({ resources: { VCPU: 1 }, ...WHO }, 1);
  expect(hostsOf(await build(one, 1))).toHaveLength(1);
  expect(await Promise.race([waiting, Promise.resolve('waits')])).toBe('waits');
  await world.clock.advance(1_000);
  expect(hostsOf(await waiting)).toHaveLength(1);
});

it('admits nothing that makes a broken one worse', async () => {
  await racks({ r1: ['a'], r2: ['b'] });
  await guarantee();
  const [one, other] = [await world.scheduler(), await world.scheduler()];
  await build(one, 4);
  // Something that runs already is claimed, whatever a guarantee says.
  await world.occupy('b', { VCPU: 1 });
  for (const scheduler of [one, other]) {
    await learnAll(scheduler);
    expect(brokenOf(scheduler)).not.toEqual([]);
    expect((await build(scheduler, 1)).response.noValidHost?.summary).toContain('no_failover_capacity');
  }
});

/** A store on which something happens before a claim is committed. */
function heldUpStore(store: PlacementStore, before: () => Promise<void>): PlacementStore {
  const commit: PlacementStore['commit'] = async (command) => {
    if (command.kind === 'write_allocations') await before();
    return store.commit(command);
  };
  return new Proxy(store, { get: (target, name) => (name === 'commit' ? commit : bound(target, name)) });
}

function bound(target: PlacementStore, name: string | symbol): unknown {
  const value = Reflect.get(target, name);
  return typeof value === 'function' ? value.bind(target) : value;
}

it('sends what leaves a dead host where the witness has it', async () => {
  await racks({ r1: ['a'], r2: ['b'], r3: ['c'] });
  await guarantee();
  const scheduler = await world.scheduler();
  const uuid = randomUUID();
  const spec = { resources: { VCPU: 2 }, ...WHO };
  await scheduler.select({ ...spec, forceHosts: ['a'] }, [uuid]);
  await build(scheduler, 2);
  scheduler.guarantees.bring(world.clock.now());
  const plan = scheduler.fleet.newestAt(scheduler.guarantees.plansFor(uuid)[0]?.place)?.host.name ?? '';
  await world.placement.commit({ kind: 'sweep_hosts', atMs: world.clock.now(), silentSinceMs: 0, limit: 0 });
  const moved = await scheduler.select({ ...spec, ignoreHosts: ['a'] }, [uuid]);
  expect(hostsOf(moved)).toEqual([plan]);
  expect(scheduler.noted).toContainEqual(expect.stringContaining('moved_by_plan'));
});

it('sends all of an affinity group off a dead host where the witness has it', async () => {
  await racks({ r1: ['a'], r2: ['b'], r3: ['c'] }, 2);
  await guarantee();
  const scheduler = await world.scheduler();
  const group = { id: 'db', policy: 'affinity', maxPerHost: 1 } as const;
  const uuids = [randomUUID(), randomUUID()];
  const spec = requestSpec({ VCPU: 1 }, { ...WHO, group });
  await scheduler.select({ ...spec, forceHosts: ['a'] }, uuids);
  scheduler.guarantees.bring(world.clock.now());
  const plan = scheduler.fleet.newestAt(scheduler.guarantees.plansFor(uuids[0] ?? '')[0]?.place)?.host.name ?? '';
  await world.placement.commit({ kind: 'sweep_hosts', atMs: world.clock.now(), silentSinceMs: 0, limit: 0 });
  await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  const evacuated = uuids.map((instanceUuid) => ({
    instanceUuid,
    spec: { ...spec, ignoreHosts: ['a'] },
    move: undefined,
  }));
  const { destinations } = await scheduler.claimMoves(evacuated);
  expect(destinations.map(({ selected }) => selected.host)).toEqual([plan, plan]);
  expect(scheduler.noted.filter((one) => one.includes('moved_by_plan'))).toHaveLength(2);
});

it('keeps the place of what is lost from an instance that it does not cover', async () => {
  await racks({ r1: ['a'], r2: ['b'], r3: ['c'] });
  await guarantee({ minPriority: 5 });
  const scheduler = await world.scheduler();
  const [high, low] = [randomUUID(), randomUUID()];
  const two = { resources: { VCPU: 2 }, ...WHO };
  await scheduler.select({ ...two, forceHosts: ['a'] }, [high], 0, { priority: 5 });
  await scheduler.select({ ...two, forceHosts: ['a'] }, [low]);
  await build(scheduler, 4, { forceHosts: ['b'] });
  await build(scheduler, 2, { forceHosts: ['c'] });
  await world.placement.commit({ kind: 'sweep_hosts', atMs: world.clock.now(), silentSinceMs: 0, limit: 0 });
  for (const host of ['b', 'c']) await world.report(host, { inventories: { VCPU: inventory(4) } });
  await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  const refused = await scheduler.select({ ...two, ignoreHosts: ['a'] }, [low]);
  expect(refused.response.noValidHost?.summary).toContain('no_failover_capacity');
  const moved = await scheduler.select({ ...two, ignoreHosts: ['a'] }, [high], 0, { priority: 5 });
  expect(hostsOf(moved)).toEqual(['c']);
});

it('holds nothing against a host that a retry left out', async () => {
  await racks({ r1: ['a'], r2: ['b'] });
  await guarantee();
  const scheduler = await world.scheduler();
  await build(scheduler, 1, { ignoreHosts: ['b'] });
  scheduler.guarantees.bring(world.clock.now());
  expect(brokenOf(scheduler)).toEqual([]);
  // Its record says which hosts it always leaves out.
  expect(scheduler.guarantees.unread()).toHaveLength(1);
});

it('reads an instance without a spec again after longer and longer pauses', async () => {
  await racks({ r1: ['a'], r2: ['b'] });
  await guarantee();
  const [one, other] = [await world.scheduler(), await world.scheduler()];
  await build(other, 1);
  await one.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  one.guarantees.bring(world.clock.now());
  const [uuid = ''] = one.guarantees.unread();
  expect(one.guarantees.dueUnread(0)).toEqual([uuid]);
  one.guarantees.hasNoSpec(uuid, 0);
  expect([one.guarantees.dueUnread(1_999), one.guarantees.dueUnread(2_000)]).toEqual([[], [uuid]]);
  one.guarantees.hasNoSpec(uuid, 2_000);
  expect([one.guarantees.dueUnread(5_999), one.guarantees.dueUnread(6_000)]).toEqual([[], [uuid]]);
});

it('counts how many more fit under it, and what breaks first', async () => {
  await racks({ r1: ['a', 'b'], r2: ['c', 'd'], r3: ['e', 'f'] });
  await guarantee();
  const scheduler = await world.scheduler();
  await build(scheduler, 5);
  const places = () => scheduler.guarantees.kept[0]?.losses.map(({ witness }) => [...witness.places()].length);
  const before = places();
  expect(scheduler.headroom({ resources: { VCPU: 1 }, ...WHO })).toMatchObject({ fits: 11, guarantee: 'rack' });
  expect(places()).toEqual(before);
  expect(hostsOf(await build(scheduler, 11))).toHaveLength(11);
  expect(scheduler.headroom({ resources: { VCPU: 1 }, ...WHO })).toMatchObject({ fits: 0, guarantee: 'rack' });
});
