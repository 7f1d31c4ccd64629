import { aGroup, aQuery } from '../../testing/placement/candidates';
import { aggregateUuid, type Forest, openForest, type ProviderSketch } from '../../testing/placement/forest';
import { RootColumns } from '../index/root-columns';
import { findCandidates } from './find-candidates';
import type { CandidateQuery, SearchOptions } from './query';

/*
 * Hosts that a search visits, counted in reads of their usage: the number must follow from what it finds, not from the
 * size of the fleet.
 */

/** Every third host is full; each hundredth has a trait and is in aggregate A. */
function fleet(hostCount: number): Promise<Forest> {
  return openForest(
    Array.from(
      { length: hostCount },
      (_, i): ProviderSketch => ({
        name: `cn${i}`,
        has: { VCPU: 8, MEMORY_MB: 1024 },
        ...(i % 3 === 0 ? { used: { VCPU: 8 } } : {}),
        ...(i % 100 === 1 ? { traits: ['CUSTOM_RARE'], in: ['A'] } : {}),
      }),
    ),
  );
}

/** Hosts looked at by a search whose columns are made already, and candidates found. */
async function looksOf(hostCount: number, query: CandidateQuery, options: SearchOptions, hasColumns = true) {
  const forest = await fleet(hostCount);
  const columns = hasColumns ? new RootColumns(forest.view) : undefined;
  const aids = columns === undefined ? {} : { columns };
  findCandidates(forest.view, query, { limit: 1 }, aids);
  const usage = jest.spyOn(forest.view, 'usage');
  const found = findCandidates(forest.view, query, options, aids).candidates.length;
  columns?.close();
  await forest.close();
  return { looks: usage.mock.calls.length, found };
}

const flat = aQuery([aGroup('', { VCPU: 1, MEMORY_MB: 10 })]);
const limit = 10;

it.each([undefined, 7])('looks at ten hosts for ten candidates, however many there are (seed %s)', async (seed) => {
  const options = seed === undefined ? { limit } : { limit, seed };
  for (const hostCount of [100, 2_000]) {
    const { looks, found } = await looksOf(hostCount, flat, options);
    // Each of the two classes reads it.
    expect({ looks, found }).toEqual({ looks: 2 * limit, found: limit });
  }
});

it('looks at no host when none has so much', async () => {
  expect(await looksOf(500, aQuery([aGroup('', { VCPU: 9 })]), { limit })).toEqual({ looks: 0, found: 0 });
});

it.each([
  ['a rare trait', { requiredTraits: [['CUSTOM_RARE']] }],
  ['a small aggregate', { memberOf: [[aggregateUuid('A')]] }],
])('looks only at the few hosts with %s, without columns too', async (_what, fields) => {
  const { looks, found } = await looksOf(500, aQuery([aGroup('', { VCPU: 1 }, fields)]), {}, false);
  expect(found).toBe(4);
  expect(looks).toBe(5);
});

it('looks only at the tree that is asked for', async () => {
  const inTree = '00000000-0000-4000-8000-000000000002';
  expect(await looksOf(50, aQuery([aGroup('', { VCPU: 1 }, { inTree })]), {}, false)).toEqual({ looks: 1, found: 1 });
  const elsewhere = aGroup('_1', { VCPU: 1 }, { inTree: inTree.replace('2', '3') });
  const query = aQuery([aGroup('', { VCPU: 1 }, { inTree }), elsewhere]);
  expect(await looksOf(50, query, {}, false)).toEqual({ looks: 0, found: 0 });
});
