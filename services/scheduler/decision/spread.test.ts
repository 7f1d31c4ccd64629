import { randomUUID } from 'node:crypto';
import type { GroupPolicy, ServerGroup } from '#libs/domain/server-group';
import { claimWrite } from '#libs/placement/sealed/claim-write';
import { aWorld, hostsOf, opened, type TestScheduler, type World } from '../testing/world';

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

/** A group that spreads over racks. */
function over(maxSkew = 1, policy: GroupPolicy = 'soft-anti-affinity', by = 'rack'): ServerGroup {
  return { id: 'web', policy, maxPerHost: 1, spread: { by, maxSkew } };
}

/** Hosts a1, a2, ... in rack a, b1, ... in rack b. */
async function racks(hostCounts: Readonly<Record<string, number>>): Promise<void> {
  for (const [rack, count] of Object.entries(hostCounts)) {
    const hosts = Array.from({ length: count }, (_, n) => `${rack}${n + 1}`);
    for (const host of hosts) await world.report(host);
    await world.aggregate(rack, { rack }, ...hosts);
  }
}

/** The racks of hosts, in order. */
function racksOf(hosts: readonly string[]): string {
  const names = hosts.map((host) => host.slice(0, 1));
  return names.sort().join('');
}

const ONE = { resources: { VCPU: 1 } };

it('places members evenly over racks of any size, in one request and one by one', async () => {
  await racks({ a: 1, b: 3, c: 2 });
  const scheduler = await world.scheduler();
  const together = hostsOf(await scheduler.select({ ...ONE, group: over() }, 6));
  expect(racksOf(together)).toBe('aabbcc');
  const alone: string[] = [];
  for (let n = 0; n < 3; n++) alone.push(...hostsOf(await scheduler.select({ ...ONE, group: over() })));
  expect(racksOf(alone)).toBe('abc');
});

it('refuses rather than grow uneven, and says by what and by how much', async () => {
  await racks({ a: 1, b: 1 });
  await world.report('nowhere');
  await world.occupy('a1', { VCPU: 8 });
  const scheduler = await world.scheduler();
  expect(hostsOf(await scheduler.select({ ...ONE, group: over() }))).toEqual(['b1']);
  const { noValidHost } = (await scheduler.select({ ...ONE, group: over() })).response;
  expect(noValidHost?.filters).toEqual([
    { filter: 'capacity', refused: 1, reasons: { capacity_vcpu: 1 } },
    { filter: 'group_spread', refused: 2, reasons: { group_is_uneven: 2 } },
  ]);
  expect(noValidHost?.summary).toContain('would leave the group more than 1 uneven by rack');
  const why = (host: string) => scheduler.explain({ ...ONE, group: over() }, host).hosts[0]?.refusals;
  expect(why('b1')).toEqual([
    'group_spread: 1 of group web are in the same rack, fewest elsewhere (0 in a), and 1 more may be',
  ]);
  expect(why('nowhere')).toEqual(['group_spread: no aggregate says the rack of the host']);
  expect(hostsOf(await scheduler.select({ ...ONE, group: over(2) }))).toEqual(['b1']);
});

it('counts racks where the request may go and a host is in service, with room or not, and no others', async () => {
  await racks({ a: 1, b: 1, c: 1 });
  await world.aggregate('east', { availability_zone: 'east' }, 'a1', 'b1');
  await world.placement.commit({ kind: 'set_host_enabled', host: 'b1', enabled: false, reason: '', atMs: 1 });
  const scheduler = await world.scheduler();
  const spec = { ...ONE, availabilityZone: 'east', group: over() };
  const waiting = { ...over(), spread: { by: 'rack', maxSkew: 1, countUnavailable: true } };
  // Rack c is in another zone; rack b has no host that is enabled, and is a place only for a group that waits for it.
  expect(hostsOf(await scheduler.select({ ...spec, group: waiting }))).toEqual(['a1']);
  const { noValidHost } = (await scheduler.select({ ...spec, group: waiting })).response;
  expect(noValidHost?.summary).toContain('uneven by rack (0 in b, where no host is up and enabled)');
  expect(hostsOf(await scheduler.select(spec))).toEqual(['a1']);
  await world.placement.commit({ kind: 'set_host_enabled', host: 'b1', enabled: true, reason: '', atMs: 1 });
  await world.clock.advance(0);
  expect(racksOf(hostsOf(await scheduler.select(spec, 2)))).toBe('bb');
});

it('spreads over zones, and keeps to the policy on hosts besides', async () => {
  for (const host of ['e1', 'e2', 'w1', 'w2']) await world.report(host);
  await world.aggregate('east', { availability_zone: 'east' }, 'e1', 'e2');
  await world.aggregate('west', { availability_zone: 'west' }, 'w1', 'w2');
  const scheduler = await world.scheduler();
  const group = over(1, 'anti-affinity', 'availability_zone');
  expect(hostsOf(await scheduler.select({ ...ONE, group }, 4)).sort()).toEqual(['e1', 'e2', 'w1', 'w2']);
});

it('asked for one zone at a time there is nothing to compare, and a claim in another zone is replaced', async () => {
  for (const host of ['e1', 'w1', 'nowhere']) await world.report(host);
  await world.aggregate('east', { availability_zone: 'east' }, 'e1');
  await world.aggregate('west', { availability_zone: 'west' }, 'w1');
  const scheduler = await world.scheduler();
  const group = over(1, 'soft-anti-affinity', 'availability_zone');
  const east = { ...ONE, group, availabilityZone: 'east' };
  expect(hostsOf(await scheduler.select(east, 3))).toEqual(['e1', 'e1', 'e1']);
  // As the top of a fleet asks for the same instance again, once in the zone of before, once in another.
  const uuids = [randomUUID()];
  expect(hostsOf(await scheduler.select(east, uuids))).toEqual(['e1']);
  expect(hostsOf(await scheduler.select(east, uuids))).toEqual(['e1']);
  expect(hostsOf(await scheduler.select({ ...east, availabilityZone: 'west' }, uuids))).toEqual(['w1']);
  expect(await world.placement.consumers(uuids)).toMatchObject([{ groupHost: 'w1' }]);
});

it('follows hosts that change racks: members count where they were when they were claimed', async () => {
  await racks({ a: 1, b: 1 });
  const scheduler = await world.scheduler();
  await scheduler.select({ ...ONE, group: over() }, 2);
  await world.report('c1');
  await world.aggregate('c', { rack: 'c' }, 'c1');
  await world.clock.advance(0);
  expect(hostsOf(await scheduler.select({ ...ONE, group: over() }))).toEqual(['c1']);
  const a = await world.aggregate('a, too', {}, 'a1');
  await world.placement.commit({
    kind: 'update_aggregate',
    uuid: a,
    name: undefined,
    set: { rack: 'A' },
    unset: [],
    atMs: 1,
  });
  await world.clock.advance(0);
  // The host is in a and A now, of which A comes first: a new rack, without members.
  expect(hostsOf(await scheduler.select({ ...ONE, group: over() }))).toEqual(['a1']);
});

it('is never more uneven than it may be when schedulers decide at once on what they have not seen of each other', async () => {
  await racks({ a: 2, b: 2, c: 2 });
  const schedulers: TestScheduler[] = [];
  for (let n = 0; n < 4; n++) schedulers.push(await world.scheduler());
  const uuids = Array.from({ length: 24 }, () => randomUUID());
  const all = await Promise.all(
    uuids.map((uuid, n) => (schedulers[n % 4] as TestScheduler).select({ ...ONE, group: over() }, [uuid])),
  );
  expect(all.flatMap(hostsOf)).toHaveLength(24);
  expect(all.some(({ conflicts }) => conflicts > 0)).toBe(true);
  const members = (await world.placement.consumers(uuids)).sort((a, b) => a.claimToken - b.claimToken);
  const counts = { a: 0, b: 0, c: 0 };
  for (const { groupDomain } of members) {
    counts[groupDomain?.domain as keyof typeof counts] += 1;
    const values = Object.values(counts);
    expect(Math.max(...values) - Math.min(...values)).toBeLessThanOrEqual(1);
  }
});

it('names alternates that the store accepts once the first claim is given up, and refuses those that came too late', async () => {
  await racks({ a: 2, b: 1 });
  const scheduler = await world.scheduler();
  const group = over(1, 'anti-affinity');
  const [first, second] = [randomUUID(), randomUUID()];
  const { destinations } = (await scheduler.select({ ...ONE, group }, [first], 3)).response;
  const selected = destinations[0];
  expect(selected?.alternates).toHaveLength(2);
  const claim = (sealed: Uint8Array | undefined, consumerUuid: string) => {
    const request = { ...opened(scheduler, sealed ?? new Uint8Array()), consumerUuid };
    return world.placement.commit({ kind: 'write_allocations', atMs: 1, consumers: [claimWrite(request)] });
  };
  for (const { allocationRequest } of selected?.alternates ?? []) {
    expect(await claim(allocationRequest, first)).toMatchObject({ kind: 'committed' });
  }
  const held = (await world.placement.consumers([first]))[0];
  const there = destinations[0]?.alternates.find(({ host }) => host === held?.groupHost);
  // Another member in the same rack would leave the other rack behind.
  expect(await claim(there?.allocationRequest, second)).toMatchObject({ kind: 'group' });
});

it('asked again, answers with what is held', async () => {
  await racks({ a: 1, b: 1 });
  const scheduler = await world.scheduler();
  const uuids = [randomUUID(), randomUUID()];
  const before = hostsOf(await scheduler.select({ ...ONE, group: over() }, uuids));
  expect(hostsOf(await scheduler.select({ ...ONE, group: over() }, uuids))).toEqual(before);
});
