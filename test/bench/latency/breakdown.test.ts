import { breakDown, PARTS, type Part } from './breakdown';

const client = { requestId: 'r', startedMs: 0, writtenMs: 1, readMs: 30, endedMs: 31 };
const scheduler = {
  requestId: 'r',
  readMs: 3,
  begunMs: 6,
  decidingMs: 7,
  decidedMs: 10,
  claimingMs: 11,
  claimedMs: 22,
  answeredMs: 24,
  writtenMs: 25,
};
const collections = [
  [0, 2],
  [20, 21],
  [29, 40],
] as const;

it('splits a select into parts that add up to it', () => {
  const runs = [[2, 9] as const, [14, 21] as const, [23, 28] as const];
  const [one] = breakDown([client], { selects: [scheduler], runs, collections });
  expect(one).toMatchObject({ whole: 31, group_commit: 3, store: 7, after_claim: 3, collecting: 3 });
  const sum = (Object.keys(PARTS) as Part[]).reduce((all, part) => all + (one?.[part] ?? 0), 0);
  expect(sum).toBe(31);
});

it('leaves out a select that the scheduler has not noted', () => {
  expect(breakDown([{ ...client, requestId: 'other' }], { selects: [scheduler], runs: [], collections })).toEqual([]);
});
