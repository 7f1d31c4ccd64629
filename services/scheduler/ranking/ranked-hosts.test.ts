import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { tenantsOf, zoneOf } from '#libs/domain/grouping/aggregate';
import { addResources, capacityOf, type Inventory, refusalOf } from '#libs/domain/inventory';
import { seededRandom } from '#libs/domain/random';
import type { RequestSpec } from '#libs/domain/request-spec';
import { candidatesInTree } from '#libs/placement/search/find-candidates';
import { planOf } from '#libs/placement/search/plan';
import { queryFromRequestSpec } from '#libs/placement/search/query';
import { completeRequest } from '../decision/complete-request';
import type { ClassFilter } from '../filters/filter';
import type { FleetSnapshot } from '../fleet/fleet-snapshot';
import type { HostState } from '../fleet/host-state';
import { locate } from '../fleet/located-request';
import { forBatch } from '../request/equivalence-class';
import { histories, specs } from '../testing/arbitrary-fleet';
import { fullRanking } from '../testing/full-ranking';
import { aWorld, classified, type TestScheduler } from '../testing/world';
import { PROFILES } from '../weighers/profiles';
import { Judgement, placesOf } from './judgement';
import { KeptRanks, type RankedHosts } from './ranked-hosts';
import { RequestConstraints } from './request-constraints';

const batchSize = fc.constantFrom(1, 1, 2);
const hostNames = fc.subarray(['h0', 'h1', 'h2', 'nobody'], { maxLength: 3 });
const group = fc.constantFrom(
  undefined,
  ...(['affinity', 'anti-affinity', 'soft-affinity', 'soft-anti-affinity'] as const).map(
    (policy) => ({ id: 'g', policy, maxPerHost: 1 }) as const,
  ),
  { id: 'g', policy: 'soft-anti-affinity', maxPerHost: 1, spread: { by: 'rack', maxSkew: 1 } } as const,
);
/** Requests of one class may name hosts and groups. */
const named: fc.Arbitrary<Partial<RequestSpec>> = fc.record({
  forceHosts: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, hostNames),
  ignoreHosts: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, hostNames),
  group,
});

function constraintsOf(scheduler: TestScheduler, spec: Partial<RequestSpec>, snapshot: FleetSnapshot) {
  const { spec: whole, equivalenceClass } = completeRequest(classified(spec), scheduler.fleet);
  const isOpen = placesOf(equivalenceClass, scheduler.settings);
  return new RequestConstraints(locate(whole, [], { fleet: scheduler.fleet, snapshot, isOpen }), scheduler.settings);
}

/** All that ranked hosts answer: hosts with equal weights in one order, whoever ranked them. */
function answers(ranked: RankedHosts, constraints: RequestConstraints, random = seededRandom(1)) {
  const hosts = [...ranked.bestFirst(constraints, random)];
  const weights = hosts.map(({ weight }) => weight);
  expect(weights).toEqual(weights.toSorted((a, b) => b - a));
  const { hostCount, feasibleCount, refusals } = ranked.feasibility(constraints);
  return {
    hosts: hosts
      .map(({ host, weight, candidate }) => ({ host: host.host.name, weight, candidate }))
      .sort((a, b) => b.weight - a.weight || (a.host < b.host ? -1 : 1)),
    hostCount,
    feasibleCount,
    refusals: refusals.byFilter,
  };
}

it('ranks brought from snapshot to snapshot, forward and back, are those of a full look at each', async () => {
  await fc.assert(
    fc.asyncProperty(
      histories(30),
      fc.array(fc.tuple(specs, batchSize, named), { minLength: 1, maxLength: 3 }),
      fc.array(fc.nat(), { minLength: 1, maxLength: 20 }),
      fc.constantFrom(...PROFILES),
      async (history, requests, visits, profile) => {
        const world = aWorld();
        const limits = { maxInstancesPerHost: 4, maxBuildsPerHost: 3 };
        const scheduler = await world.scheduler({ ...limits, profile });
        const snapshots: FleetSnapshot[] = [];
        for (const happening of history) {
          await happening.run(world);
          await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
          snapshots.push(scheduler.fleet.snapshot(world.clock.now()));
        }
        for (const [i, visit] of visits.entries()) {
          const snapshot = snapshots[visit % snapshots.length] as FleetSnapshot;
          const [spec, count, rest] = requests[i % requests.length] ?? [{}, 1, {}];
          const equivalenceClass = forBatch(classified(spec).equivalenceClass, count);
          const constraints = constraintsOf(scheduler, { ...spec, ...rest }, snapshot);
          // Every so often prices change.
          const asked = Array.from({ length: 20 }, () => randomUUID());
          scheduler.pricing.note(equivalenceClass, asked, snapshot);
          const full = fullRanking(scheduler.settings, scheduler.pricing.prices);
          const kept = scheduler.rankHosts(equivalenceClass, snapshot);
          expect(answers(kept, constraints)).toEqual(answers(full(equivalenceClass, snapshot), constraints));
          for (const { host, candidate } of kept.bestFirst(constraints, seededRandom(visit))) {
            const claim = { consumerUuid: 'c', hostIndex: host.index, group: undefined, ...candidate };
            const assumed = snapshot.assume(claim);
            expect(answers(scheduler.rankHosts(equivalenceClass, assumed), constraints)).toEqual(
              answers(full(equivalenceClass, assumed), constraints),
            );
            break;
          }
          expect(answers(kept, constraints)).toEqual(answers(full(equivalenceClass, snapshot), constraints));
        }
        await world.close();
      },
    ),
    { numRuns: 80 },
  );
});

/** Hosts as they are now, by name. */
function statesOf(scheduler: TestScheduler, nowMs: number): HostState[] {
  return scheduler.fleet.names(nowMs).flatMap((name) => scheduler.host(name) ?? []);
}

function capacityReason(resourceClass: string, inventory: Inventory | undefined, used: number, amount: number): string {
  const name = resourceClass.toLowerCase();
  if (!inventory) return `no_inventory_${name}`;
  // Where several rules refuse, capacity is told first.
  const refusal = used + amount > capacityOf(inventory) ? 'capacity' : refusalOf(inventory, used, amount);
  return refusal === undefined ? '' : `${refusal}_${name}`;
}

it('agrees with the rules spelled out: who passes and takes what, who is refused and why, host by host', async () => {
  await fc.assert(
    fc.asyncProperty(histories(30), specs, async (history, spec) => {
      const world = aWorld();
      for (const happening of history) await happening.run(world);
      const scheduler = await world.scheduler();
      const { mirror, settings } = scheduler;
      const { spec: asked, equivalenceClass } = classified(spec);
      const judgement = new Judgement(equivalenceClass, settings, scheduler.pricing.prices);
      const snapshot = scheduler.fleet.snapshot(world.clock.now());
      const ranked = scheduler.rankHosts(equivalenceClass, snapshot);
      const feasible = [...ranked.bestFirst(constraintsOf(scheduler, spec, snapshot), seededRandom(0))];
      for (const state of statesOf(scheduler, world.clock.now())) {
        if (state.providers) continue;
        const { host, root } = state;
        const used = mirror.usage(root.uuid);
        const reasons = [
          host.up ? [] : ['host_down'],
          host.enabled ? [] : ['host_disabled'],
          asked.availabilityZone === undefined || asked.availabilityZone === zoneOf(state.aggregates)
            ? []
            : ['other_availability_zone'],
          tenantsOf(state.aggregates).length > 0 ? ['other_tenant'] : [],
          ...Object.entries(equivalenceClass.resources).map(([resourceClass, amount]) =>
            capacityReason(resourceClass, root.inventories[resourceClass], used[resourceClass] ?? 0, amount),
          ),
          asked.requiredTraits.filter((t) => !root.traits.includes(t)).map((t) => `missing_trait_${t.toLowerCase()}`),
          asked.forbiddenTraits.filter((t) => root.traits.includes(t)).map((t) => `forbidden_trait_${t.toLowerCase()}`),
          asked.memberOf
            .filter((anyOf) => !anyOf.some((a) => root.aggregates.includes(a)))
            .map(() => 'not_in_aggregate'),
          asked.forbiddenAggregates.some((a) => root.aggregates.includes(a)) ? ['in_forbidden_aggregate'] : [],
        ].flat();
        const expected = reasons.filter((reason) => reason !== '');
        expect(judgement.refusals(state).map(({ reason }) => reason.symbol)).toEqual(expected);
        expect(judgement.sentences(state)).toHaveLength(expected.length);
        const found = feasible.find(({ host: one }) => one === state);
        expect(found !== undefined).toBe(expected.length === 0);
        const preferred = Object.entries(asked.preferredResources).filter(([resourceClass, amount]) => {
          const inv = root.inventories[resourceClass];
          const both = (asked.resources[resourceClass] ?? 0) + amount;
          return inv !== undefined && refusalOf(inv, used[resourceClass] ?? 0, both) === undefined;
        });
        const claimed = addResources(asked.resources, Object.fromEntries(preferred));
        expect(found?.candidate.allocations ?? {}).toEqual(expected.length === 0 ? { [root.uuid]: claimed } : {});
      }
      await world.close();
    }),
    { numRuns: 100 },
  );
});

it('finds a candidate on a flat host exactly when the general search does, and on the others through it', async () => {
  await fc.assert(
    fc.asyncProperty(histories(30), specs, async (history, spec) => {
      const world = aWorld();
      for (const happening of history) await happening.run(world);
      const scheduler = await world.scheduler({ filters: ['capacity', 'traits', 'aggregates'] });
      const { spec: asked, equivalenceClass } = classified(spec);
      const snapshot = scheduler.fleet.snapshot(world.clock.now());
      const ranked = scheduler.rankHosts(equivalenceClass, snapshot);
      const feasible = [...ranked.bestFirst(constraintsOf(scheduler, spec, snapshot), seededRandom(0))];
      const plan = planOf(scheduler.mirror, queryFromRequestSpec(asked));
      for (const host of statesOf(scheduler, world.clock.now())) {
        // In a tree, the aggregates of a host are those of its root; the search looks at each provider's.
        if (host.providers && asked.memberOf.length + asked.forbiddenAggregates.length > 0) continue;
        const found = feasible.some((one) => one.host === host);
        const candidates = plan ? [...candidatesInTree(plan, host.root.uuid)] : [];
        const own = candidates.some(({ allocations }) =>
          Object.keys(allocations).some((uuid) => scheduler.mirror.provider(uuid)?.rootUuid === host.root.uuid),
        );
        expect({ host: host.host.name, found }).toEqual({ host: host.host.name, found: own });
      }
      await world.close();
    }),
    { numRuns: 100 },
  );
});

it('a filter that makes a fresh reason each time is counted like any other, and nothing of the reasons stays', async () => {
  const world = aWorld();
  for (const host of ['a', 'b', 'c']) await world.report(host);
  const scheduler = await world.scheduler();
  const reasons: WeakRef<object>[] = [];
  const fresh: ClassFilter = {
    kind: 'class',
    name: 'fresh',
    prepare: () => [
      {
        refuse({ host, instances }) {
          if (host.name === 'a') return undefined;
          const reason = { symbol: `has_${instances}`, phrase: `have ${instances} instances` };
          reasons.push(new WeakRef(reason));
          return reason;
        },
        describe: () => '',
      },
    ],
  };
  const settings = { ...scheduler.settings, classFilters: [fresh] };
  const ranks = new KeptRanks(settings, scheduler.pricing, 1_000);
  const { equivalenceClass } = classified();
  const counts = () => {
    const snapshot = scheduler.fleet.snapshot(world.clock.now());
    const { feasibleCount, refusals } = ranks
      .rank(equivalenceClass, snapshot)
      .feasibility(constraintsOf(scheduler, {}, snapshot));
    const { hostCount, reasons: bySymbol } = refusals.byFilter.get('fresh') ?? { hostCount: 0, reasons: new Map() };
    return { feasibleCount, hostCount, reasons: [...bySymbol].map(([symbol, one]) => [symbol, one.hostCount]) };
  };
  expect(counts()).toEqual({ feasibleCount: 1, hostCount: 2, reasons: [['has_0', 2]] });
  for (let instances = 1; instances <= 100; instances++) {
    await world.occupy('b', { VCPU: 1 }).catch(() => undefined);
    await world.report('b', { externalInstances: instances });
    await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
    expect(counts().hostCount).toBe(2);
  }
  expect(counts().reasons).toHaveLength(2);
  expect(reasons.length).toBeGreaterThan(200);
  await world.close();
});

it('forgets the classes asked for least lately when ranked hosts become too many', async () => {
  const world = aWorld();
  await world.report('a');
  const { ranks, fleet } = await world.scheduler({ rankedHosts: 2 * 1_024 });
  const [one, two, three] = [1, 2, 3].map((VCPU) => classified({ resources: { VCPU } }).equivalenceClass);
  if (!one || !two || !three) throw new Error('no classes');
  const snapshot = fleet.snapshot(world.clock.now());
  for (const asked of [one, two, three]) ranks.rank(asked, snapshot);
  expect(ranks.keys()).toEqual([two.key, three.key]);
  ranks.rank(two, snapshot);
  ranks.rank(one, snapshot);
  expect(ranks.keys()).toEqual([two.key, one.key]);
  await world.close();
});

it('outgrows its first places, before and after decisions', async () => {
  const world = aWorld();
  for (let i = 0; i < 1_000; i++) await world.report(`host-${i}`);
  const scheduler = await world.scheduler();
  const { equivalenceClass } = classified({ resources: { VCPU: 1 } });
  const feasibleCount = () => {
    const snapshot = scheduler.fleet.snapshot(world.clock.now());
    return scheduler.rankHosts(equivalenceClass, snapshot).feasibility(constraintsOf(scheduler, {}, snapshot))
      .feasibleCount;
  };
  expect(feasibleCount()).toBe(1_000);
  for (let i = 1_000; i < 1_100; i++) await world.report(`host-${i}`);
  await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  expect(feasibleCount()).toBe(1_100);
  await world.close();
});
