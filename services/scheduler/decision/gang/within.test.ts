import { inventory } from '#libs/domain/inventory';
import type { Within } from '#libs/domain/server-group';
import { aWorld, hostsOf, type TestScheduler, type World } from '../../testing/world';

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

const IN_RACK: Within = { levels: ['rack'], required: 1 };

/** Hosts by rack, each with so many VCPU; `b1/r1` is rack r1 of block b1. */
async function fleetOf(racks: Readonly<Record<string, readonly number[]>>): Promise<TestScheduler> {
  for (const [path, hosts] of Object.entries(racks)) {
    const [block = '', rack = block] = path.split('/');
    const names = hosts.map((_, n) => `${rack}-${n}`);
    for (const [n, vcpus] of hosts.entries()) {
      await world.report(names[n] as string, { inventories: { VCPU: inventory(vcpus) } });
    }
    await world.aggregate(`rack ${path}`, { rack, ...(path.includes('/') ? { block } : {}) }, ...names);
  }
  return world.scheduler();
}

const gang = (within: Within, vcpus = 1, id = 'g') => ({
  resources: { VCPU: vcpus },
  group: { id, policy: 'soft-affinity', maxPerHost: 1, within } as const,
});
const racksOf = (hosts: readonly string[]) => [...new Set(hosts.map((host) => host.split('-')[0] ?? ''))].sort();

it('places all members in one rack, though the best hosts are in several', async () => {
  const scheduler = await fleetOf({ r1: [4, 4], r2: [4, 4], r3: [3, 3, 3] });
  const hosts = hostsOf(await scheduler.select(gang(IN_RACK), 9));
  expect(racksOf(hosts)).toEqual(['r3']);
});

it('takes the rack with the fewest pieces left over', async () => {
  const scheduler = await fleetOf({ r1: [8, 8], r2: [4, 1], r3: [9] });
  expect(racksOf(hostsOf(await scheduler.select(gang(IN_RACK), 5)))).toEqual(['r2']);
  expect(racksOf(hostsOf(await scheduler.select(gang(IN_RACK, 1, 'other'), 5)))).toEqual(['r3']);
});

it('says by how much the best rack is too small', async () => {
  const scheduler = await fleetOf({ r1: [4], r12: [4, 3], r3: [2, 2] });
  const { response } = await scheduler.select(gang(IN_RACK), 9);
  expect(response.destinations).toEqual([]);
  expect(response.noValidHost?.summary).toMatch(
    /^no rack has room for 9 instances; the best, r12, lacks 2: room for 7 of 9 instances, then 0 of 5 hosts fit: .*3 are outside rack r12 \(outside_domain\), 2 lack free VCPU \(capacity_vcpu\)/,
  );
});

it('says that no host is in a rack', async () => {
  await world.report('alone');
  const { response } = await (await world.scheduler()).select(gang(IN_RACK), 1);
  expect(response.noValidHost?.summary).toMatch(/^no host is in a rack \(metadata of an aggregate\)/);
});

it('keeps later members in the rack of the first, and refuses when it is full', async () => {
  const scheduler = await fleetOf({ r1: [2], r2: [8, 8] });
  expect(racksOf(hostsOf(await scheduler.select(gang(IN_RACK), 1)))).toEqual(['r1']);
  expect(racksOf(hostsOf(await scheduler.select(gang(IN_RACK), 1)))).toEqual(['r1']);
  const { response } = await scheduler.select(gang(IN_RACK), 1);
  expect(response.noValidHost?.summary).toContain(
    'are not in the rack of the group (r1), or in none (group_is_outside)',
  );
  expect(scheduler.explain(gang(IN_RACK), 'r2-0').hosts[0]?.refusals.join()).toContain(
    'group g stays within rack (r1); the host is in r2',
  );
});

it('prefers a rack, and gives that up within the block when no rack has room', async () => {
  const within: Within = { levels: ['block', 'rack'], required: 1 };
  const scheduler = await fleetOf({ 'b1/r1': [2], 'b1/r2': [2], 'b2/r3': [1], 'b2/r4': [9] });
  expect(racksOf(hostsOf(await scheduler.select(gang(within, 1, 'small'), 2)))).toEqual(['r1']);
  expect(racksOf(hostsOf(await scheduler.select(gang(within, 1, 'large'), 10)))).toEqual(['r3', 'r4']);
  const { response } = await scheduler.select(gang(within, 1, 'huge'), 11);
  expect(response.noValidHost?.summary).toMatch(/^no block has room for 11 instances; the best, b1, lacks 9/);
});

it('tells racks of one name in two blocks apart', async () => {
  for (const block of ['b1', 'b2']) {
    await world.report(`${block}-0`, { inventories: { VCPU: inventory(2) } });
    await world.aggregate(block, { block, rack: 'r1' }, `${block}-0`);
  }
  const scheduler = await world.scheduler();
  const { response } = await scheduler.select(gang({ levels: ['block', 'rack'], required: 2 }), 4);
  expect(response.noValidHost?.summary).toMatch(/^no block\/rack has room for 4 instances; the best, b1\/r1, lacks 2/);
});

it('goes anywhere when a rack is only preferred and none has room', async () => {
  const scheduler = await fleetOf({ r1: [2], r2: [2] });
  const anywhere = { levels: ['rack'], required: 0 };
  expect(racksOf(hostsOf(await scheduler.select(gang(anywhere), 3)))).toEqual(['r1', 'r2']);
});

it('places kinds of several sizes in one rack, the others elsewhere left alone', async () => {
  const scheduler = await fleetOf({ r1: [4, 4], r2: [6, 3] });
  const selected = await scheduler.selectKinds([
    { spec: gang(IN_RACK, 6), count: 1 },
    { spec: gang(IN_RACK, 1), count: 3 },
  ]);
  expect(racksOf(hostsOf(selected))).toEqual(['r2']);
});

it('names alternates in the rack only', async () => {
  const scheduler = await fleetOf({ r1: [4, 4], r2: [8, 8] });
  const { response } = await scheduler.select(gang(IN_RACK), 2, 3);
  const named = response.destinations.flatMap(({ selected, alternates }) => [selected, ...alternates]);
  expect(racksOf(named.map(({ host }) => host))).toEqual(['r1']);
});

it('places as many as fit in one rack where fewer are enough', async () => {
  const scheduler = await fleetOf({ r1: [4], r2: [3, 2] });
  const hosts = hostsOf(await scheduler.select(gang(IN_RACK), 8, 0, { minCount: 3 }));
  expect([hosts.length, racksOf(hosts)]).toEqual([5, ['r2']]);
});

it('counts a host for one member where members keep apart', async () => {
  const scheduler = await fleetOf({ r1: [9], r2: [1, 1] });
  const apart = { id: 'g', policy: 'anti-affinity', maxPerHost: 1, within: IN_RACK } as const;
  const hosts = hostsOf(await scheduler.select({ resources: { VCPU: 1 }, group: apart }, 2));
  expect(hosts.toSorted()).toEqual(['r2-0', 'r2-1']);
});

it('is kept in one rack by two schedulers at once', async () => {
  const scheduler = await fleetOf({ r1: [4], r2: [5] });
  const other = await world.scheduler();
  const answers = await Promise.all([scheduler, other].map((one) => one.select(gang(IN_RACK), 2)));
  expect(racksOf(answers.flatMap(hostsOf))).toEqual(['r1']);
  expect((await scheduler.select(gang(IN_RACK), 1)).response.destinations).toEqual([]);
});

it('makes room in one rack, that of the fewest victims, and in no other', async () => {
  const scheduler = await fleetOf({ r1: [2, 2], r2: [4, 4] });
  for (const host of ['r1-0', 'r1-1']) await occupyBy(host, 1, 2);
  await occupyBy('r2-0', 4, 1);
  await occupyBy('r2-1', 2, 1);
  await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  const { response } = await scheduler.select(gang(IN_RACK, 2), 3, 0, { priority: 10, mayPreempt: true });
  const { host = '', furtherHosts = [], victims = [] } = response.preemption ?? {};
  expect(racksOf([host, ...furtherHosts])).toEqual(['r2']);
  expect(victims.length).toBe(1);
});

async function occupyBy(host: string, vcpus: number, times: number): Promise<void> {
  for (let n = 0; n < times; n++) await world.occupy(host, { VCPU: vcpus });
}
