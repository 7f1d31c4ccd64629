import { array, assert, integer, property } from 'fast-check';
import { bestFirst } from './weigher';

it('takes the greatest weights first, of equal ones the first, however many are asked for', () => {
  const weights = array(integer({ min: 0, max: 9 }), { maxLength: 60 });
  assert(
    property(weights, (some) => {
      const ranked = some.map((weight, i) => [weight, i] as const).sort(([a, i], [b, j]) => b - a || i - j);
      expect([...bestFirst(Float64Array.from(some))]).toEqual(ranked.map(([, i]) => i));
    }),
  );
});
