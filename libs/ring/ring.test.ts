import * as fc from 'fast-check';
import { createRing, type RingMember } from './ring';

const aName = fc.stringMatching(/^[a-z][a-z0-9-]{0,11}$/);
const someMembers = (minLength: number) =>
  fc.uniqueArray(fc.record({ name: aName, weight: fc.constantFrom(0.5, 1, 2, 4) }), {
    selector: ({ name }) => name,
    minLength,
    maxLength: 12,
  });
const KEYS = Array.from({ length: 10_000 }, (_, n) => `node-${String(n).padStart(5, '0')}`);
const SOME_KEYS = KEYS.slice(0, 2_000);

function countsOf(members: readonly RingMember[]): Map<string, number> {
  const ring = createRing(members);
  const counts = new Map<string, number>();
  for (const key of KEYS) counts.set(ring.ownerOf(key) ?? '', (counts.get(ring.ownerOf(key) ?? '') ?? 0) + 1);
  return counts;
}

it('has no owner for anything without members', () => {
  expect(createRing([]).ownerOf('node-1')).toBeUndefined();
});

it('does not depend on the order in which members are named', () => {
  fc.assert(
    fc.property(someMembers(2), aName, (members, key) => {
      expect(createRing(members.toReversed()).ownerOf(key)).toBe(createRing(members).ownerOf(key));
    }),
    { numRuns: 20 },
  );
});

it('gives each member about its share of the keys, by its weight', () => {
  fc.assert(
    fc.property(someMembers(1), (members) => {
      const sum = members.reduce((all, { weight }) => all + weight, 0);
      const counts = countsOf(members);
      for (const { name, weight } of members) {
        const fair = (KEYS.length * weight) / sum;
        // Six standard deviations of a share with this many points, and with this many keys.
        const tolerance = fair * (6 / Math.sqrt(512 * weight)) + 6 * Math.sqrt(fair);
        expect(Math.abs((counts.get(name) ?? 0) - fair)).toBeLessThan(tolerance);
      }
    }),
    { numRuns: 20 },
  );
});

it('moves only keys of a member that leaves, and only to a member that joins', () => {
  fc.assert(
    fc.property(someMembers(2), ([changed, ...rest]) => {
      const [smaller, larger] = [createRing(rest), createRing([...rest, changed as RingMember])];
      const moved = SOME_KEYS.filter((key) => larger.ownerOf(key) !== smaller.ownerOf(key));
      expect(moved.filter((key) => larger.ownerOf(key) !== changed?.name)).toEqual([]);
    }),
    { numRuns: 20 },
  );
});

it('moves only to a member whose weight rises', () => {
  fc.assert(
    fc.property(someMembers(2), ([changed, ...rest]) => {
      const { name, weight } = changed as RingMember;
      const before = createRing([...rest, { name, weight }]);
      const after = createRing([...rest, { name, weight: weight * 2 }]);
      const moved = SOME_KEYS.filter((key) => after.ownerOf(key) !== before.ownerOf(key));
      expect(moved.filter((key) => after.ownerOf(key) !== name)).toEqual([]);
    }),
    { numRuns: 20 },
  );
});

it('names the same owners in every version: agents of two versions share a pool', () => {
  const ring = createRing(['a', 'b', 'c'].map((name) => ({ name, weight: 1 })));
  expect([1, 2, 3, 4, 5, 6].map((n) => ring.ownerOf(`node-${n}`)).join(' ')).toBe('b a b b a b');
});
