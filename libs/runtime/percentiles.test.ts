import { percentile } from './percentiles';

it('gives the nearest rank, whatever the order of the samples', () => {
  const samples = Array.from({ length: 100 }, (_, i) => 100 - i);
  expect([50, 90, 99, 100].map((p) => percentile(samples, p))).toEqual([50, 90, 99, 100]);
});

it('gives the only sample for every percentile, and 0 of none', () => {
  expect(percentile([7], 1)).toBe(7);
  expect(percentile([7], 99)).toBe(7);
  expect(percentile([], 99)).toBe(0);
});
