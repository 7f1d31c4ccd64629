import * as fc from 'fast-check';
import { createRing } from './ring';
import { fairShare, keysToGiveUp } from './shares';

const KEYS = Array.from({ length: 1_000 }, (_, n) => `node-${n}`);
const ringOf = (...names: string[]) => createRing(names.map((name) => ({ name, weight: 1 })));
const heldBy = (ring: ReturnType<typeof ringOf>, name: string) => KEYS.filter((key) => ring.ownerOf(key) === name);

it('gives up nothing that the ring names it for', () => {
  const ring = ringOf('a', 'b', 'c');
  const held = heldBy(ring, 'a');
  expect(keysToGiveUp(ring, { name: 'a', held, keyCount: KEYS.length, slack: 0 })).toEqual([]);
});

it('gives up all when it is no member any more', () => {
  const held = KEYS.slice(0, 10);
  expect(keysToGiveUp(ringOf('a', 'b'), { name: 'c', held, keyCount: KEYS.length, slack: 1 })).toEqual(held);
});

it('spares moves within the slack when a member comes back', () => {
  const [without, all] = [ringOf('a', 'b', 'c', 'd'), ringOf('a', 'b', 'c', 'd', 'e')];
  const moved = (slack: number) =>
    ['a', 'b', 'c', 'd'].flatMap((name) =>
      keysToGiveUp(all, { name, held: heldBy(without, name), keyCount: KEYS.length, slack }),
    );
  const everything = KEYS.filter((key) => all.ownerOf(key) === 'e');
  expect(moved(0.1).length).toBeLessThan(everything.length * 0.8);
  expect(moved(0.1).every((key) => everything.includes(key))).toBe(true);
});

it('keeps at most its fair share and the slack beside what the ring names it for, whatever it holds', () => {
  fc.assert(
    fc.property(fc.subarray(KEYS), fc.constantFrom(0, 0.1, 0.5), (held, slack) => {
      const ring = ringOf('a', 'b', 'c');
      const given = new Set(keysToGiveUp(ring, { name: 'a', held, keyCount: KEYS.length, slack }));
      const own = held.filter((key) => ring.ownerOf(key) === 'a');
      expect(own.some((key) => given.has(key))).toBe(false);
      const most = Math.ceil(fairShare(ring, 'a', KEYS.length) * (1 + slack));
      expect(held.length - given.size).toBeLessThanOrEqual(Math.max(most, own.length));
      expect(given.size > 0 && held.length - given.size < Math.min(most, held.length)).toBe(false);
    }),
  );
});
