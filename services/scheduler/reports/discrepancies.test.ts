import { TOLD_AT_ONCE, turnOf } from './discrepancies';

it('shows conductors so many of what no claim bounds by one report, and all of it in turn', () => {
  const strays = Array.from({ length: 10_000 }, (_, n) => n);
  const turns = Array.from({ length: 10 }, (_, n) => turnOf(strays, 7 + n));
  expect(turns.map(({ length }) => length)).toEqual(turns.map(() => TOLD_AT_ONCE));
  expect(new Set(turns.flat()).size).toBe(10_000);
  expect(turnOf(strays.slice(0, 3), 7)).toEqual([0, 1, 2]);
});
