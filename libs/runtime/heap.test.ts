import * as fc from 'fast-check';
import { Heap } from './heap';

it('gives what was put in, the first of it each time, whenever it is asked', () => {
  const steps = fc.array(fc.oneof({ weight: 2, arbitrary: fc.integer() }, fc.constant('pop' as const)));
  fc.assert(
    fc.property(steps, (taken) => {
      const heap = new Heap<number>((a, b) => a < b);
      const model: number[] = [];
      for (const step of taken) {
        const isPop = step === 'pop';
        expect(isPop ? heap.pop() : heap.push(step)).toBe(isPop ? model.shift() : undefined);
        if (!isPop) model.push(step);
        model.sort((a, b) => a - b);
        expect(heap.peek()).toBe(model[0]);
      }
    }),
  );
});
