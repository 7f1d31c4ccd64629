import * as fc from 'fast-check';
import { inventory } from '#libs/domain/inventory';
import type { RequestGroup } from '#libs/domain/request-spec';
import { GROUP_POLICIES } from '#libs/domain/server-group';
import { histories, specs } from '../testing/arbitrary-fleet';
import { aWorld } from '../testing/world';

const UNEVEN = { VCPU: inventory(8, { maxUnit: 4 }), MEMORY_MB: inventory(8, { stepSize: 2 }) };
const NONE = { requiredTraits: [], forbiddenTraits: [], memberOf: [], forbiddenAggregates: [], inTree: undefined };
const requestGroup = fc
  .record({ VCPU: fc.integer({ min: 1, max: 3 }) })
  .map((resources): Omit<RequestGroup, 'suffix'> => ({ ...NONE, resources }));
const groups = fc.option(
  fc
    .record({
      id: fc.constant('g'),
      policy: fc.constantFrom(...GROUP_POLICIES),
      maxPerHost: fc.nat(2),
      spread: fc.constantFrom(undefined, undefined, { by: 'rack', maxSkew: 1 }, { by: 'rack', maxSkew: 2 }),
      within: fc.constantFrom(
        undefined,
        undefined,
        { levels: ['rack'], required: 1 },
        { levels: ['rack'], required: 0 },
      ),
    })
    // Two of them together are refused at the door.
    .map(({ spread, within, ...group }) => {
      if (group.policy === 'affinity') return group;
      return spread ? { ...group, spread } : { ...group, within };
    }),
  { nil: undefined },
);
const amounts = fc.record({ VCPU: fc.integer({ min: 1, max: 3 }), MEMORY_MB: fc.integer({ min: 1, max: 4 }) });
const requests = fc.record({
  spec: fc.oneof({ weight: 4, arbitrary: fc.record({ resources: amounts }) }, specs),
  group: groups,
  requestGroups: fc.oneof(
    { weight: 2, arbitrary: fc.constant<Omit<RequestGroup, 'suffix'>[]>([]) },
    fc.array(requestGroup, { maxLength: 2 }),
  ),
  groupPolicy: fc.constantFrom('none' as const, 'isolate' as const),
  count: fc.integer({ min: 1, max: 3 }),
  again: fc.boolean(),
});

it('what the filters accept, over forced claims, changed inventories and groups on many hosts, the store commits', async () => {
  let selectedCount = 0;
  await fc.assert(
    fc.asyncProperty(histories(25), fc.array(requests, { minLength: 1, maxLength: 4 }), async (history, asked) => {
      const world = aWorld();
      const scheduler = await world.scheduler();
      for (const host of ['h0', 'h1', 'h2']) await world.report(host, { inventories: UNEVEN });
      await world.aggregate('r0', { rack: 'r0' }, 'h0');
      await world.aggregate('r1', { rack: 'r1' }, 'h1');
      for (const happening of history) await happening.run(world);
      let uuids: string[] = [];
      for (const { spec, count, again, requestGroups, ...rest } of asked) {
        await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
        const named = requestGroups.map((one, i) => ({ ...one, suffix: `_${i}` }));
        const wanted = { ...spec, ...rest, requestGroups: named };
        const { response, conflicts } = await scheduler.select(wanted, again && uuids.length > 0 ? uuids : count);
        expect(conflicts).toBe(0);
        uuids = response.destinations.map(({ instanceUuid }) => instanceUuid);
        selectedCount += uuids.length;
      }
      await world.close();
    }),
    { numRuns: 150 },
  );
  // Most requests of such a fleet are met: the property is not empty.
  expect(selectedCount).toBeGreaterThan(80);
});
