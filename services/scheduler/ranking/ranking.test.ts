import * as fc from 'fast-check';
import { capacityOf, type Inventory, refusalOf } from '#libs/domain/inventory';
import { candidatesInTree } from '#libs/placement/candidates/find-candidates';
import { queryFromRequestSpec } from '#libs/placement/candidates/from-request-spec';
import { planOf } from '#libs/placement/candidates/plan';
import { aRequestSpec } from '#libs/testing/request-spec';
import { Fleet } from '../fleet/fleet';
import { diagnose } from '../select/diagnose';
import { Personal } from '../select/personal';
import { translate } from '../select/translate';
import { histories, specs } from '../testing/arbitrary-fleet';
import { aWorld, type TestScheduler } from '../testing/world';
import { Ranking } from './ranking';
import { shapeOf } from './shape';
import { Walk } from './walk';

const together = fc.constantFrom(1, 1, 2);

/** What a ranking says of each host, by name: its weight, or undefined. */
function weights(ranking: Ranking, fleet: Fleet): Record<string, number | undefined> {
  const hosts = fleet
    .names()
    .map((name) => fleet.byName(name))
    .filter((host) => host !== undefined);
  return Object.fromEntries(
    hosts.map((host) => [host.host.name, ranking.passes(host.index) ? ranking.tournament.of(host.index) : undefined]),
  );
}

/** Does what walks do to hosts that they reach. */
function searchAll(ranking: Ranking, fleet: Fleet): void {
  for (let index = 0; index < fleet.indexCount; index++) {
    const host = fleet.at(index);
    if (host && ranking.passes(index)) ranking.candidateOn(host);
  }
}

function diagnosisOf(ranking: Ranking, scheduler: Pick<TestScheduler, 'settings'>, fleet: Fleet) {
  const { request } = translate(aRequestSpec(), [], fleet);
  return diagnose(
    ranking,
    new Personal(request, scheduler.settings.personalFilters, scheduler.settings),
    fleet.hostCount,
  );
}

it('ranks kept up to date are the ranks of a fresh look at the whole fleet, whatever happened', async () => {
  await fc.assert(
    fc.asyncProperty(
      histories(40),
      fc.array(fc.tuple(specs, together), { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 1, max: 5 }),
      async (history, shapes, every) => {
        const world = aWorld();
        const scheduler = await world.scheduler({ maxInstancesPerHost: 4, maxBuildsPerHost: 3 });
        const { fleet, rankings, settings } = scheduler;
        for (const [step, happening] of history.entries()) {
          await happening.run(world);
          await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
          if (step % every !== 0) continue;
          fleet.refresh(world.clock.now());
          const fresh = new Fleet(scheduler.mirror, scheduler.config);
          fresh.refresh(world.clock.now());
          for (const [spec, count] of shapes) {
            const shape = shapeOf(aRequestSpec(spec), count);
            const kept = rankings.of(shape);
            const anew = new Ranking(shape, fresh, settings);
            for (const ranking of [kept, anew]) searchAll(ranking, ranking === kept ? fleet : fresh);
            expect(weights(kept, fleet)).toEqual(weights(anew, fresh));
            expect(diagnosisOf(kept, scheduler, fleet)).toEqual(diagnosisOf(anew, scheduler, fresh));
          }
          fresh.close();
        }
        await world.close();
      },
    ),
    { numRuns: 60 },
  );
});

function capacityReason(resourceClass: string, inventory: Inventory | undefined, used: number, amount: number): string {
  const name = resourceClass.toLowerCase();
  if (!inventory) return `no_inventory_${name}`;
  // Where several rules refuse, capacity is told first.
  const refusal = used + amount > capacityOf(inventory) ? 'capacity' : refusalOf(inventory, used, amount);
  return refusal === undefined ? '' : `${refusal}_${name}`;
}

it('agrees with the rules spelled out: who passes, who is refused and why, host by host', async () => {
  await fc.assert(
    fc.asyncProperty(histories(30), specs, async (history, spec) => {
      const world = aWorld();
      for (const happening of history) await happening.run(world);
      const { fleet, rankings, mirror } = await world.scheduler();
      const asked = aRequestSpec(spec);
      const shape = shapeOf(asked, 1);
      const ranking = rankings.of(shape);
      for (const name of fleet.names()) {
        const state = fleet.byName(name);
        if (!state?.isFlat) continue;
        const { host, root } = state;
        const used = mirror.usage(root.uuid);
        const reasons = [
          host.up ? [] : ['host_down'],
          host.enabled ? [] : ['host_disabled'],
          asked.availabilityZone === undefined || asked.availabilityZone === host.availabilityZone
            ? []
            : ['other_availability_zone'],
          ...Object.entries(shape.resources).map(([resourceClass, amount]) =>
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
        expect(ranking.explain(state).map(({ reason }) => reason.symbol)).toEqual(expected);
        expect(ranking.passes(state.index)).toBe(expected.length === 0);
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
      const { fleet, rankings, mirror } = await world.scheduler({
        filters: ['capacity', 'traits', 'aggregates'],
      });
      const asked = aRequestSpec(spec);
      const ranking = rankings.of(shapeOf(asked, 1));
      const plan = planOf(mirror, queryFromRequestSpec(asked));
      for (const name of fleet.names()) {
        const host = fleet.byName(name);
        if (!host) continue;
        const found = ranking.passes(host.index) && ranking.candidateOn(host) !== undefined;
        // In a tree, the aggregates of a host are those of its root; the search looks at each provider's.
        if (!host.isFlat && asked.memberOf.length + asked.forbiddenAggregates.length > 0) continue;
        const candidates = plan ? [...candidatesInTree(plan, host.root.uuid)] : [];
        const own = new Set(mirror.tree(host.root.uuid).map(({ uuid }) => uuid));
        const isOnHost = candidates.some(({ allocations }) => Object.keys(allocations).some((uuid) => own.has(uuid)));
        expect({ name, found }).toEqual({ name, found: isOnHost });
      }
      await world.close();
    }),
    { numRuns: 100 },
  );
});

it('walks every host that passes once, best first', async () => {
  await fc.assert(
    fc.asyncProperty(histories(30), specs, fc.integer(), async (history, spec, seed) => {
      const world = aWorld();
      for (const happening of history) await happening.run(world);
      const { fleet, rankings, settings } = await world.scheduler();
      const asked = aRequestSpec({ ...spec, group: { id: 'g', policy: 'soft-affinity', maxPerHost: 1 } });
      const { request, shape } = translate(asked, [], fleet);
      const ranking = rankings.of(shape);
      const personal = new Personal(request, settings.personalFilters, settings);
      const walk = new Walk(ranking, personal, { next: () => (seed % 97) / 97, uuid: () => '' });
      const walked: [number, number][] = [];
      for (let step = walk.next(); step; step = walk.next()) walked.push([step.index, step.weight]);
      const all = Array.from({ length: fleet.indexCount }, (_, index) => index).filter((index) =>
        ranking.passes(index),
      );
      expect(new Set(walked.map(([index]) => index))).toEqual(new Set(all));
      expect(walked).toHaveLength(all.length);
      for (const [index, weight] of walked) {
        expect(weight).toBe(ranking.tournament.of(index) + personal.weightOf(index));
      }
      const order = walked.map(([, weight]) => weight);
      expect(order).toEqual(order.toSorted((a, b) => b - a));
      await world.close();
    }),
    { numRuns: 60 },
  );
});
