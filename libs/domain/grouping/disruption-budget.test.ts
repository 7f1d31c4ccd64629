import { budgetText, leastAvailable, unreadableBudget } from './disruption-budget';

it.each([
  [{}, 4, undefined],
  [{ min_available: '3' }, 4, 3],
  [{ max_unavailable: '1' }, 4, 3],
  [{ max_unavailable: '9' }, 4, 0],
  [{ min_available: '50%' }, 3, 2],
  [{ max_unavailable: '30%' }, 4, 2],
  [{ max_unavailable: '0' }, 4, 4],
  // The stricter of both.
  [{ min_available: '1', max_unavailable: '1' }, 4, 3],
  [{ min_available: 'most' }, 4, Number.NaN],
  [{ min_available: '-1' }, 4, Number.NaN],
  [{ max_unavailable: '101%' }, 4, Number.NaN],
])('%o of a group of %i keeps %p available', (metadata, members, least) => {
  expect(leastAvailable(metadata, members)).toBe(least);
});

it('names what it can not read, and says what an operator wrote', () => {
  expect(unreadableBudget({ min_available: '2', max_unavailable: '' })).toBe('max_unavailable');
  expect(unreadableBudget({ min_available: '2%', other: 'x' })).toBeUndefined();
  expect(budgetText({ other: 'x', max_unavailable: '1', min_available: '$&' })).toBe(
    'min_available=$& max_unavailable=1',
  );
});
