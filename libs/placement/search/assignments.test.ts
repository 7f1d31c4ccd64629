import { aGroup, aQuery } from '../../testing/placement/candidates';
import { type Forest, openForest, type ProviderSketch } from '../../testing/placement/forest';
import { findCandidates } from './find-candidates';
import type { SearchOptions } from './query';

/*
 * Cost of a search, in providers tried: a number that is the same on every machine. The naive way through
 * eight devices for eight groups is 8^8 = 16,777,216 combinations, and that is one host.
 */

let forest: Forest;

afterEach(() => forest.close());

/** One host with devices of so many virtual functions each, and what a search for groups of these amounts finds. */
async function search(
  devices: readonly number[],
  amounts: readonly number[],
  options: SearchOptions = {},
  isolate = false,
) {
  const host: ProviderSketch = { name: 'cn', has: { VCPU: 64 } };
  const children = devices.map((total, i) => ({ name: `pf${i}`, parent: 'cn', has: { SRIOV_NET_VF: total } }));
  forest = await openForest([host, ...children]);
  const groups = [aGroup('', { VCPU: 1 }), ...amounts.map((amount, i) => aGroup(`_${i}`, { SRIOV_NET_VF: amount }))];
  const { candidates, isComplete, steps } = findCandidates(
    forest.view,
    aQuery(groups, { groupPolicy: isolate ? 'isolate' : 'none' }),
    options,
  );
  return { found: candidates.length, isComplete, steps };
}

function times<T>(count: number, item: T): T[] {
  return Array.from({ length: count }, () => item);
}

it.each([false, true])(
  'goes straight to the first way to give eight groups a device each (isolate: %s)',
  async (isolate) => {
    expect(await search(times(8, isolate ? 9 : 1), times(8, 1), { limit: 1 }, isolate)).toEqual({
      found: 1,
      isComplete: false,
      steps: 9,
    });
  },
);

it('finds all 8! ways, each with less than three tries', async () => {
  const { found, steps } = await search(times(8, 1), times(8, 1));
  expect(found).toBe(40_320);
  expect(steps).toBeLessThan(3 * 40_320);
});

it('knows one way from another only when devices differ, if asked so', async () => {
  const distinct = { symmetry: 'distinct' } as const;
  expect(await search(times(8, 1), times(8, 1), distinct)).toMatchObject({ found: 1, steps: 9 });
  await forest.close();
  // Beside the 2, which fills a large one: both 1s in one large, in two large, in a large and a small, in two small.
  expect(await search([2, 2, 2, 1, 1], [2, 1, 1], distinct)).toMatchObject({ isComplete: true, found: 4 });
});

it.each([false, true])('sees at once that nine groups do not fit eight devices (isolate: %s)', async (isolate) => {
  expect(await search(times(8, isolate ? 9 : 1), times(9, 1), {}, isolate)).toEqual({
    found: 0,
    isComplete: true,
    steps: 0,
  });
});

it('sees at once that large amounts do not fit though the sum does', async () => {
  // 27 of 32 are asked for, but no device takes two of 3.
  expect(await search(times(8, 4), times(9, 3))).toEqual({ found: 0, isComplete: true, steps: 0 });
});

it('tries one of several symmetric devices when packing fails although counting finds enough seats', async () => {
  // 6+4, 6, 6, 5+5, and a 5 is left over, though only 37 of 40 are asked for.
  const { found, isComplete, steps } = await search(times(4, 10), [6, 6, 6, 5, 5, 5, 4]);
  expect({ found, isComplete }).toEqual({ found: 0, isComplete: true });
  expect(steps).toBeLessThan(200);
});

it('gives a tree up after so many steps and says so', async () => {
  expect(await search(times(8, 1), times(8, 1), { maxStepsPerRoot: 20 })).toMatchObject({
    isComplete: false,
    steps: 20,
  });
});

it('ends with what it has after so many steps in all trees', async () => {
  const trees = Array.from({ length: 10 }, (_, i): ProviderSketch[] => [
    { name: `cn${i}` },
    ...['a', 'b', 'c'].map((name) => ({ name: `cn${i}${name}`, parent: `cn${i}`, has: { SRIOV_NET_VF: 9 } })),
  ]);
  forest = await openForest(trees.flat());
  const query = aQuery([aGroup('_1', { SRIOV_NET_VF: 1 }), aGroup('_2', { SRIOV_NET_VF: 1 })]);
  const { candidates, ...rest } = findCandidates(forest.view, query, { maxSteps: 40 });
  expect(rest.isComplete).toBe(false);
  expect(rest.steps).toBeLessThan(44);
  expect(new Set(candidates.map(({ rootUuid }) => rootUuid)).size).toBe(10);
});

it('counts a step of a large problem for more', async () => {
  expect(await search(times(100, 1), times(4, 1), { limit: 1 })).toMatchObject({ found: 1, steps: 23 + 5 * 4 });
});
