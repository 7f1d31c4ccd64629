import * as fc from 'fast-check';
import { NOTHING, Tournament } from './tournament';

const numbers = fc.array(fc.integer({ min: -50, max: 50 }), { minLength: 1, maxLength: 32 });
const changes = fc.array(fc.tuple(fc.nat({ max: 31 }), fc.constantFrom(NOTHING, -3, 0, 7, 99)), { maxLength: 40 });

it('has the best number at its root, and each node the better of its children, whatever is set', () => {
  fc.assert(
    fc.property(numbers, changes, (first, later) => {
      const tournament = new Tournament(32);
      tournament.fill(first.length, (index) => first[index] as number);
      const expected = Array.from({ length: 32 }, (_, index) => first[index] ?? NOTHING);
      for (const [index, value] of later) {
        tournament.set(index, value);
        expected[index] = value;
      }
      expect(Array.from({ length: 32 }, (_, index) => tournament.of(index))).toEqual(expected);
      expect(tournament.at(1)).toBe(Math.max(...expected));
      for (let node = 1; node < 32; node++) {
        expect(tournament.at(node)).toBe(Math.max(tournament.at(2 * node), tournament.at(2 * node + 1)));
      }
    }),
  );
});
