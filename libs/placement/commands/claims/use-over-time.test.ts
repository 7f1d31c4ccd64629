import { DAY_MS } from '../../../domain/quotas/utc-day';
import { holdMore } from './hold-more';
import { daysOf, daysUntil, laterOf, withAmounts } from './use-over-time';

const NOON = 20_000 * DAY_MS + DAY_MS / 2;
const HOUR_MS = 3_600_000;
const usage = { used: { VCPU: 2 }, atMs: NOON, days: {} };
const vcpuMs = (days: ReturnType<typeof daysUntil>) => Object.values(days).reduce((sum, { VCPU = 0 }) => sum + VCPU, 0);

it.each([
  ['an hour', HOUR_MS, 1],
  ['over midnight', 13 * HOUR_MS, 2],
  ['a week', 7 * DAY_MS, 8],
])('counts what was held for %s, by day', (_, ms, dayCount) => {
  const days = daysUntil(usage, NOON + ms);
  expect([vcpuMs(days), Object.keys(days).length]).toEqual([2 * ms, dayCount]);
});

it('counts a bounded time when a clock jumps', () => {
  for (const ms of [10 * 365 * DAY_MS, Number.MAX_SAFE_INTEGER - NOON]) {
    expect(Object.keys(daysUntil(usage, NOON + ms)).length).toBeLessThan(40);
    expect(Object.keys(daysOf({ ...row([[2, 0]]), atMs: NOON + ms })).length).toBeLessThan(40);
  }
});

it('goes back with a clock that was set back by more than a day', () => {
  expect(laterOf(NOON, NOON - HOUR_MS)).toBe(NOON);
  expect(laterOf(NOON, NOON - 2 * DAY_MS)).toBe(NOON - 2 * DAY_MS);
});

it('comes to the same days whatever the order of the changes', () => {
  const changes: [number, number][] = [
    [2, 0],
    [3, HOUR_MS],
    [-4, 14 * HOUR_MS],
    [1, 50 * HOUR_MS],
  ];
  const days = daysOf(row(changes));
  expect(daysOf(row(changes.toReversed()))).toEqual(days);
  // 2 for an hour, 5 for 13 hours, 1 for 36.
  expect(vcpuMs(days)).toBe((2 + 5 * 13 + 36) * HOUR_MS);
  expect(days[20_000]).toEqual({ VCPU: (2 + 5 * 11) * HOUR_MS });
});

function row(changes: readonly (readonly [by: number, afterMs: number])[]) {
  let [amounts, atMs]: [Record<string, number>, number] = [{}, 0];
  for (const [by, afterMs] of changes) {
    atMs = Math.max(atMs, NOON + afterMs);
    for (const write of holdMore('p', { VCPU: by }, NOON + afterMs)) {
      if (write.kind === 'add') amounts = { ...withAmounts(amounts, write.amounts) };
    }
  }
  return { amounts, atMs };
}
