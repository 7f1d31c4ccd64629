import { array, assert, constantFrom, nat, oneof, property, record } from 'fast-check';
import { Fifo } from './fifo';

it('behaves as an array does', () => {
  const change = record({ kind: constantFrom('push', 'unshift', 'shift'), count: nat(2_000) });
  assert(
    property(array(oneof(change), { maxLength: 20 }), (changes) => {
      const fifo = new Fifo<number>();
      const model: number[] = [];
      const taken: unknown[] = [];
      const expected: unknown[] = [];
      let next = 0;
      for (const { kind, count } of changes) {
        for (let i = 0; i < count; i++) {
          taken.push(kind === 'shift' ? fifo.shift() : fifo[kind](next));
          expected.push(kind === 'shift' ? model.shift() : void model[kind](next));
          next++;
        }
        expect([fifo.size, fifo.first()]).toEqual([model.length, model[0]]);
      }
      expect(taken).toEqual(expected);
    }),
    { numRuns: 50 },
  );
});
