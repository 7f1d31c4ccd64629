import * as fc from 'fast-check';
import type { ListUsageRequest, ListUsageResponse, UsageShareView } from '../contracts/quotas';
import { mergeUsage } from './merge-usage';
import { compareShares, markerOf, readMarker } from './share-key';

type Fleet = readonly (readonly UsageShareView[])[];

const seconds = fc.dictionary(fc.constantFrom('VCPU', 'instances'), fc.integer({ min: 1, max: 9 }), { minKeys: 1 });
const share = fc.record({
  projectId: fc.constantFrom('a', 'b'),
  userId: fc.constantFrom('', 'ann', 'bob'),
  flavor: fc.constantFrom('', 's'),
  instanceUuid: fc.constantFrom('', '1', '2'),
  days: fc.uniqueArray(fc.record({ day: fc.constantFrom('2026-11-01', '2026-11-02'), unitSeconds: seconds }), {
    selector: ({ day }) => day,
    minLength: 1,
  }),
});
const cell = fc.uniqueArray(share, { selector: markerOf, maxLength: 12 }).map((shares) => shares.sort(compareShares));

const request: ListUsageRequest = {
  projectId: '',
  sinceMs: 0,
  untilMs: 0,
  marker: '',
  limit: 2,
  by: ['user'],
  shareMarker: '',
};

/** A cell's page. */
function pageOf(shares: readonly UsageShareView[], { shareMarker, limit }: ListUsageRequest): ListUsageResponse {
  const after = readMarker(shareMarker);
  const rest = shares.filter((one) => after === undefined || compareShares(one, after) > 0);
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  return { projects: [], shares: page, nextMarker: rest.length > limit && last ? markerOf(last) : '' };
}

function readAll(cells: Fleet): UsageShareView[] {
  const all: UsageShareView[] = [];
  let shareMarker = '';
  do {
    const asked = { ...request, shareMarker };
    const page = mergeUsage(
      asked,
      cells.map((shares) => pageOf(shares, asked)),
    );
    all.push(...page.shares);
    shareMarker = page.nextMarker;
  } while (shareMarker !== '');
  return all;
}

function sumOf(shares: readonly UsageShareView[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const one of shares) {
    for (const { day, unitSeconds } of one.days) {
      for (const [name, amount] of Object.entries(unitSeconds)) {
        const key = `${markerOf(one)} ${day} ${name}`;
        sum[key] = (sum[key] ?? 0) + amount;
      }
    }
  }
  return sum;
}

it('tells each share once, in order, as the sum over the cells, however their pages end', () => {
  fc.assert(
    fc.property(fc.array(cell, { minLength: 1, maxLength: 3 }), (cells) => {
      const all = readAll(cells);
      expect(sumOf(all)).toEqual(sumOf(cells.flat()));
      expect(all.map(markerOf)).toEqual([...new Set(all.toSorted(compareShares).map(markerOf))]);
    }),
  );
});

it('sums projects, and ends a page of them where the next can go on', () => {
  const day = (amount: number) => [{ day: '2026-11-01', unitSeconds: { VCPU: amount } }];
  const of = (...projects: string[]) => ({
    projects: projects.map((projectId) => ({ projectId, days: day(1) })),
    shares: [],
    nextMarker: '',
  });
  const merged = mergeUsage({ ...request, by: [] }, [of('a', 'c'), of('b', 'c'), of('a')]);
  expect(merged.projects).toEqual([
    { projectId: 'a', days: day(2) },
    { projectId: 'b', days: day(1) },
  ]);
});
