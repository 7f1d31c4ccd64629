import * as fc from 'fast-check';
import { arbitraryForest, arbitraryQuery } from '../../testing/placement/arbitrary-forest';
import { candidatesByDefinition } from '../../testing/placement/candidates-by-definition';
import { claimOf, type Forest, openForest } from '../../testing/placement/forest';
import { RootColumns } from '../index/root-columns';
import type { PlacementView } from '../port/placement-view';
import { keyOf } from './candidate';
import { findCandidates } from './find-candidates';
import { KeptCandidates } from './kept-candidates';
import type { Candidate, CandidateQuery } from './query';

/** Plants forests, asks queries of each, and closes what it planted. */
function holdsForAll(
  property: (forest: Forest, query: CandidateQuery) => void | Promise<void>,
  maxProviders = 6,
): Promise<void> {
  const cases = arbitraryForest(maxProviders).chain((sketches) => {
    const uuids = sketches.map((_sketch, i) => `00000000-0000-4000-8000-${(i + 1).toString(16).padStart(12, '0')}`);
    return fc.tuple(fc.constant(sketches), fc.array(arbitraryQuery(uuids), { minLength: 1, maxLength: 10 }));
  });
  return fc.assert(
    fc.asyncProperty(cases, async ([sketches, queries]) => {
      const forest = await openForest(sketches);
      try {
        for (const query of queries) await property(forest, query);
      } finally {
        await forest.close();
      }
    }),
    { numRuns: 150 },
  );
}

function keysOf(candidates: readonly Candidate[]): string[] {
  return candidates.map(keyOf).sort();
}

it.each([true, false])('finds exactly what the definition says, each once (trees known: %s)', (nestedAware) =>
  holdsForAll(({ view }, query) => {
    const wanted = new Set(candidatesByDefinition(view, query, nestedAware).map(keyOf));
    const { candidates, isComplete } = findCandidates(view, query, { nestedAware });
    expect(keysOf(candidates)).toEqual([...wanted].sort());
    expect(isComplete).toBe(true);
  }),
);

it('finds the same with columns, in whatever order', () =>
  holdsForAll(({ view }, query) => {
    const columns = new RootColumns(view);
    const plain = keysOf(findCandidates(view, query).candidates);
    for (const options of [{}, { seed: 1 }, { seed: 2 }])
      expect(keysOf(findCandidates(view, query, options, { columns }).candidates)).toEqual(plain);
    columns.close();
  }));

it('finds the same, in the same order, with candidates that are kept, whatever was claimed meanwhile', () =>
  holdsForAll(async (forest, query) => {
    const { view } = forest;
    const kept = new KeptCandidates(view);
    const expectSame = () => {
      for (const options of [{}, { limit: 2 }, { nestedAware: false }]) {
        const plain = findCandidates(view, query, options);
        const first = findCandidates(view, query, options, { kept });
        expect(first.candidates).toEqual(plain.candidates);
        expect(findCandidates(view, query, options, { kept }).candidates).toEqual(plain.candidates);
        expect(first.isComplete).toBe(plain.isComplete);
      }
    };
    expectSame();
    const [claimed] = findCandidates(view, query, { limit: 1 }).candidates;
    if (claimed !== undefined) {
      await forest.commit(claimOf('c', claimed.allocations));
      expectSame();
      await forest.commit(claimOf('c', {}));
      expectSame();
    }
    kept.close();
  }));

it('finds candidates that can be claimed', () =>
  holdsForAll(async ({ view, store }, query) => {
    for (const { allocations } of findCandidates(view, query, { limit: 5 }).candidates) {
      const claimed = await store.commit({ ...claimOf('c', allocations), atMs: 1 });
      expect(claimed.kind).toBe('committed');
      await store.commit({ ...claimOf('c', {}), atMs: 2 });
    }
  }));

it('leaves out of distinct candidates only those that differ by swapping symmetric devices or groups', () =>
  holdsForAll(({ view }, query) => {
    const every = findCandidates(view, query).candidates;
    const distinct = findCandidates(view, query, { symmetry: 'distinct', seed: 3 }).candidates;
    expect(keysOf(every)).toEqual(expect.arrayContaining(keysOf(distinct)));
    const aliasOf = aliases(view, every);
    const shapes = (candidates: readonly Candidate[]) => new Set(candidates.map((c) => shapeOf(c, aliasOf)));
    expect(shapes(distinct)).toEqual(shapes(every));
  }));

/** For each device the first of those that can be swapped with it: with the same parent, and swapping all through changes nothing. */
function aliases(view: PlacementView, every: readonly Candidate[]): (uuid: string) => string {
  const devices = [...view.providers()].filter((p) => p.parentUuid !== undefined && view.children(p.uuid).size === 0);
  const shapes = (swap: (uuid: string) => string) =>
    every
      .map((candidate) => shapeOf(candidate, swap))
      .sort()
      .join();
  const unchanged = shapes((uuid) => uuid);
  return (uuid) => {
    const device = devices.find((other) => other.uuid === uuid);
    const alias = devices.find((other) => {
      const swap = (name: string) => (name === uuid ? other.uuid : name === other.uuid ? uuid : name);
      return other.parentUuid === device?.parentUuid && shapes(swap) === unchanged;
    });
    return device === undefined ? uuid : (alias?.uuid ?? uuid);
  };
}

/** Allocations by provider name. */
function shapeOf({ allocations }: Candidate, nameOf: (uuid: string) => string): string {
  const parts = Object.entries(allocations).map(([uuid, resources]) =>
    JSON.stringify([nameOf(uuid), Object.entries(resources).map(String).sort()]),
  );
  return parts.sort().join('+');
}
