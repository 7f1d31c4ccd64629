import { fakeClock } from '#libs/testing/fake-clock';
import { createExpiringMap } from './expiring-map';

const LIMITS = { keptMs: 1_000, maxCount: 2 };

it('keeps entries for their time, counted from when they were put last', async () => {
  const clock = fakeClock();
  const map = createExpiringMap<number>(clock, LIMITS);
  map.put('a', 1);
  map.put('b', 1);
  await clock.advance(999);
  map.put('a', 2);
  await clock.advance(1);
  map.put('c', 3);
  expect(['a', 'b', 'c'].map((key) => map.get(key))).toEqual([2, undefined, 3]);
  expect(map.has('b')).toBe(false);
});

it('gives up the oldest entry when there are too many', () => {
  const map = createExpiringMap<number>(fakeClock(), LIMITS);
  for (const [n, key] of ['a', 'b', 'a', 'c'].entries()) map.put(key, n);
  expect(['a', 'b', 'c'].map((key) => map.get(key))).toEqual([2, undefined, 3]);
});
