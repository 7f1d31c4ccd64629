import { accrued, DAY_MS } from './project-usage';

const NOON = 20_000 * DAY_MS + DAY_MS / 2;
const HOUR_MS = 3_600_000;
const held = { used: { VCPU: 2 }, atMs: NOON, accrued: {} };
const sumOf = (row: ReturnType<typeof accrued>) =>
  Object.values(row.accrued).reduce((sum, { VCPU = 0 }) => sum + VCPU, 0) / 2;

it.each([
  ['an hour', HOUR_MS, 1],
  ['over midnight', 13 * HOUR_MS, 2],
  ['a week', 7 * DAY_MS, 8],
])('counts what was held for %s, by day', (_, ms, days) => {
  const row = accrued(held, NOON + ms);
  expect([sumOf(row), Object.keys(row.accrued).length, row.atMs]).toEqual([ms, days, NOON + ms]);
});

it('counts an hour once that the clock goes back and comes again', () => {
  const ahead = accrued(held, NOON + HOUR_MS);
  const back = accrued(ahead, NOON);
  expect([sumOf(back), back.atMs]).toEqual([HOUR_MS, NOON + HOUR_MS]);
  expect(sumOf(accrued(back, NOON + 2 * HOUR_MS))).toBe(2 * HOUR_MS);
});

it.each([10 * 365 * DAY_MS, Number.MAX_SAFE_INTEGER - NOON])(
  'counts a bounded time when a clock jumps by %i ms, and goes on when it is set right',
  (ms) => {
    const jumped = accrued(held, NOON + ms);
    expect(Object.keys(jumped.accrued).length).toBeLessThan(40);
    const right = accrued(jumped, NOON + HOUR_MS);
    expect(sumOf(accrued(right, NOON + 2 * HOUR_MS)) - sumOf(right)).toBe(HOUR_MS);
  },
);
