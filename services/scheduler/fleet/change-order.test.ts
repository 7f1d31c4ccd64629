import * as fc from 'fast-check';
import { ChangeOrder } from './change-order';

it('visits what changed after a version, each once, latest first', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 9 }), { maxLength: 60 }), fc.nat({ max: 60 }), (touched, seen) => {
      const order = new ChangeOrder(16);
      for (const index of touched) order.touch(index);
      const visited: number[] = [];
      order.forEachSince(seen, (index) => visited.push(index));
      expect(visited).toEqual([...new Set(touched.slice(seen).toReversed())]);
      expect(order.version).toBe(touched.length);
    }),
  );
});
