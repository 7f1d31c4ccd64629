import * as fc from 'fast-check';
import { histories, specs } from '../testing/arbitrary-fleet';
import { aWorld, hostsOf, type World } from '../testing/world';

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

const hosts = fc.subarray(['h0', 'h1', 'h2', 'nobody'], { maxLength: 3 });
const instances = fc.subarray([0, 1, 2].map((n) => `bbbbbbbb-0000-4000-8000-00000000000${n}`));
const group = fc.constantFrom(
  undefined,
  { id: 'g', policy: 'affinity', maxPerHost: 1 } as const,
  { id: 'g', policy: 'anti-affinity', maxPerHost: 1 } as const,
);
const named = fc.record({
  forceHosts: hosts,
  ignoreHosts: hosts,
  sameHost: instances,
  differentHost: instances,
  group,
});

it('counts what counting host by host gives, for filters of both kinds', async () => {
  await fc.assert(
    fc.asyncProperty(histories(25), specs, named, async (history, spec, constraints) => {
      const fleetWorld = aWorld();
      for (const happening of history) await happening.run(fleetWorld);
      const scheduler = await fleetWorld.scheduler({ maxInstancesPerHost: 3 });
      const asked = { ...spec, ...constraints };
      const names = scheduler.fleet.names(fleetWorld.clock.now());
      const all = names.map((host) => scheduler.explain(asked, host).hosts[0]);
      const { diagnosis } = scheduler.explain(asked);
      const refusedBy = new Map<string, number>();
      for (const verdict of all) {
        const filters = new Set(verdict?.refusals.map((refusal) => refusal.split(':')[0] ?? ''));
        for (const filter of filters) refusedBy.set(filter, (refusedBy.get(filter) ?? 0) + 1);
      }
      expect(new Map(diagnosis.filters.map(({ filter, refused }) => [filter, refused]))).toEqual(refusedBy);
      for (const { filter, refused, reasons } of diagnosis.filters) {
        for (const [name, count] of [[filter, refused] as const, ...Object.entries(reasons)]) {
          expect(scheduler.explain(asked, '', 100, { refusedBy: name }).hosts).toHaveLength(count);
        }
      }
      expect(diagnosis.hostsConsidered).toBe(all.length);
      expect(diagnosis.hostsPassed).toBe(all.filter((verdict) => verdict?.passed).length);
      await fleetWorld.close();
    }),
    { numRuns: 80 },
  );
});

it('says in one sentence how many hosts fit and why the others do not, the most common reason first', async () => {
  for (const host of ['a', 'b', 'c']) await world.report(host);
  await world.report('d', { inventories: {} });
  const scheduler = await world.scheduler();
  const { response } = await scheduler.select({ resources: { VCPU: 9 }, forceHosts: ['a'] });
  expect(response.noValidHost?.summary).toBe(
    'the largest host has 8 VCPU: 9 can never fit. 0 of 4 hosts fit: 3 lack free VCPU (capacity_vcpu), 3 are not among the hosts that the request names (not_forced), ' +
      '1 has no VCPU (no_inventory_vcpu)',
  );
});

it('says so when there are no hosts at all', async () => {
  const scheduler = await world.scheduler();
  const selected = await scheduler.select();
  expect(hostsOf(selected)).toEqual([]);
  expect(selected.response.noValidHost).toEqual({
    hostsConsidered: 0,
    hostsPassed: 0,
    filters: [],
    quotaExceeded: [],
    claimConflicts: 0,
    summary: 'there are no hosts',
  });
});

it('explains no other host in place of one that does not exist, also where the fleet fills its last place', async () => {
  for (let n = 0; n < 32; n++) await world.report(`host-${n}`);
  const scheduler = await world.scheduler();
  expect(() => scheduler.explain({}, 'nobody')).toThrow(expect.objectContaining({ reason: 'no_such_host' }));
});
