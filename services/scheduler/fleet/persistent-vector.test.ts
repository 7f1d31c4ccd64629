import * as fc from 'fast-check';
import { PersistentVector } from './persistent-vector';

interface Item {
  readonly n: number;
}

const index = fc.oneof(fc.nat({ max: 40 }), fc.nat({ max: 2_000 }), fc.nat({ max: 70_000 }));
const change = fc.tuple(index, fc.option(fc.record({ n: fc.nat() }), { nil: undefined }));
const versions = fc.array(fc.array(change, { maxLength: 20 }), { minLength: 1, maxLength: 8 });

const contentsOf = (vector: PersistentVector<Item>) => {
  const contents: [number, Item][] = [];
  vector.forEach((at, item) => contents.push([at, item]));
  return contents;
};

it('keeps every version as it was, and tells exactly the places in which any two differ', () => {
  fc.assert(
    fc.property(versions, (changes) => {
      const kept: [PersistentVector<Item>, Map<number, Item>][] = [[PersistentVector.of<Item>(), new Map()]];
      for (const some of changes) {
        const [before, model] = kept.at(-1) ?? [PersistentVector.of<Item>(), new Map<number, Item>()];
        const next = new Map(model);
        for (const [at, item] of some) {
          if (item === undefined) next.delete(at);
          else next.set(at, item);
        }
        const [only] = some;
        const isInside = some.length === 1 && only?.[1] !== undefined && only[0] < before.length;
        const after = isInside ? before.set(only[0], only[1] as Item) : before.with(some);
        kept.push([after, next]);
      }
      for (const [vector, model] of kept) {
        expect(contentsOf(vector)).toEqual([...model].sort(([a], [b]) => a - b));
        for (const [at, item] of model) expect(vector.at(at)).toBe(item);
        expect(vector.at(99_999)).toBeUndefined();
        for (const [other, otherModel] of kept) {
          const told = new Set<number>();
          vector.forEachDifference(other, (at, before, after) => {
            expect([before, after]).toEqual([model.get(at), otherModel.get(at)]);
            told.add(at);
          });
          const all = new Set([...model.keys(), ...otherModel.keys()]);
          expect(told).toEqual(new Set([...all].filter((at) => model.get(at) !== otherModel.get(at))));
        }
      }
    }),
  );
});
