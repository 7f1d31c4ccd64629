import * as fc from 'fast-check';
import { type Inventory, inventory } from '../../domain/inventory';
import { SHARING_TRAIT } from '../../domain/provider';
import type { RequestGroup } from '../../domain/request-spec';
import type { CandidateQuery } from '../../placement/search/query';
import { aggregateUuid, type ProviderSketch } from './forest';

const CLASSES = ['VCPU', 'MEMORY_MB', 'DISK_GB', 'SRIOV_NET_VF'];
const TRAITS = ['CUSTOM_A', 'CUSTOM_B', 'HW_NUMA_ROOT'];
const AGGREGATES = ['A', 'B'];
const SUFFIXES = ['_A', '_B', '_C'];

/** Up to `maxProviders` providers in trees of any shape, with small amounts and everything that the search reads. */
export function arbitraryForest(maxProviders: number): fc.Arbitrary<ProviderSketch[]> {
  const provider = fc.record({
    parent: fc.option(fc.nat(maxProviders)),
    has: fc.dictionary(fc.constantFrom(...CLASSES), arbitraryInventory, { maxKeys: 3 }),
    traits: fc.subarray([...TRAITS, SHARING_TRAIT]),
    in: fc.subarray(AGGREGATES),
    isUsed: fc.boolean(),
  });
  return fc.array(provider, { minLength: 1, maxLength: maxProviders }).map((drawn) =>
    drawn.map(({ parent, has, isUsed, ...labels }, i) => ({
      name: `p${i}`,
      ...labels,
      has,
      ...(parent === null || i === 0 ? {} : { parent: `p${parent % i}` }),
      ...(isUsed && canUseOne(has.VCPU) ? { used: { VCPU: 1 } } : {}),
    })),
  );
}

const arbitraryInventory: fc.Arbitrary<Inventory> = fc
  .record({
    total: fc.integer({ min: 1, max: 6 }),
    maxUnit: fc.integer({ min: 1, max: 6 }),
    minUnit: fc.constantFrom(1, 1, 1, 2),
    stepSize: fc.constantFrom(1, 1, 1, 2),
    allocationRatio: fc.constantFrom(1, 1, 1.5),
  })
  .map(({ total, ...rest }) => inventory(total, rest));

function canUseOne(has: Inventory | undefined): boolean {
  return has !== undefined && has.minUnit === 1 && has.stepSize === 1;
}

/** Queries with all possible conditions, for forests of {@link arbitraryForest}; `uuids` are for `inTree`. */
export function arbitraryQuery(uuids: readonly string[]): fc.Arbitrary<CandidateQuery> {
  const suffixed = fc
    .subarray(SUFFIXES)
    .chain((suffixes) => fc.tuple(...suffixes.map((s) => arbitraryGroup(s, uuids))));
  return fc
    .record({
      spread: fc.option(arbitraryGroup('', uuids), { freq: 3 }),
      suffixed,
      groupPolicy: fc.constantFrom('none', 'isolate'),
      sameSubtree: fc.option(fc.subarray(SUFFIXES, { minLength: 1 })),
      near: fc.option(
        fc.record({ groups: fc.subarray(SUFFIXES), to: fc.subarray(SUFFIXES), mayBeAway: fc.boolean() }),
        { nil: undefined },
      ),
      rootRequiredTraits: rarely(TRAITS),
      rootForbiddenTraits: rarely(TRAITS),
    })
    .map(({ spread, suffixed: others, sameSubtree, ...query }) => {
      const groups = [...(spread === null ? [] : [spread]), ...others];
      const members = groups.map(({ suffix }) => suffix).filter((suffix) => sameSubtree?.includes(suffix));
      return { ...query, groups, sameSubtrees: members.length === 0 ? [] : [members] };
    })
    .filter(({ groups }) => groups.some(({ resources }) => Object.keys(resources).length > 0));
}

function arbitraryGroup(suffix: string, uuids: readonly string[]): fc.Arbitrary<RequestGroup> {
  const aggregates = AGGREGATES.map(aggregateUuid);
  return fc.record({
    suffix: fc.constant(suffix),
    resources: fc.dictionary(fc.constantFrom(...CLASSES), fc.integer({ min: 1, max: 3 }), {
      minKeys: suffix === '' ? 1 : 0,
      maxKeys: 2,
    }),
    requiredTraits: fc.array(fc.subarray(TRAITS, { minLength: 1, maxLength: 2 }), { maxLength: 1 }),
    forbiddenTraits: rarely(TRAITS),
    memberOf: rarely([['A'], ['B'], ['A', 'B']]).map((lists) => lists.map((names) => names.map(aggregateUuid))),
    forbiddenAggregates: rarely(aggregates),
    inTree: fc.option(fc.constantFrom(...uuids), { freq: 8, nil: undefined }),
  });
}

/** Mostly empty, seldom one of them. */
function rarely<T>(items: readonly T[]): fc.Arbitrary<T[]> {
  const nothing: fc.Arbitrary<T[]> = fc.constant([]);
  const one: fc.Arbitrary<T[]> = fc.constantFrom(...items).map((item) => [item]);
  return fc.oneof({ weight: 5, arbitrary: nothing }, { weight: 1, arbitrary: one });
}
