import * as fc from 'fast-check';
import { inQueueOrder, type Waiter } from './queue-order';

const waiter = (name: string, fields: Partial<Waiter> = {}): Waiter => {
  return { requestId: name, projectId: 'a', priority: 0, arrivedAtMs: 0, ...fields };
};
const namesOf = (waiters: readonly Waiter[]) => waiters.map(({ requestId }) => requestId);

it('goes by priority, then by turns of the projects, then by arrival', () => {
  const waiters = [
    waiter('a1', { arrivedAtMs: 1 }),
    waiter('a2', { arrivedAtMs: 2 }),
    waiter('a3', { arrivedAtMs: 3 }),
    waiter('b1', { arrivedAtMs: 9, projectId: 'b' }),
    waiter('high', { arrivedAtMs: 10, priority: 1 }),
    waiter('low', { arrivedAtMs: 0, priority: -1 }),
  ];
  expect(namesOf(inQueueOrder(waiters))).toEqual(['high', 'a1', 'b1', 'a2', 'a3', 'low']);
});

it('gives the next turn to the project whose last is longest ago', () => {
  const waiters = [waiter('a1', { arrivedAtMs: 1 }), waiter('b1', { arrivedAtMs: 9, projectId: 'b' })];
  expect(namesOf(inQueueOrder(waiters, new Map([['a', 5]])))).toEqual(['b1', 'a1']);
  const both = new Map([
    ['a', 5],
    ['b', 6],
  ]);
  expect(namesOf(inQueueOrder(waiters, both))).toEqual(['a1', 'b1']);
});

it('serves a project that asks for one as soon as one that asks for many, however often the many are first', () => {
  const many = Array.from({ length: 50 }, (_, n) => waiter(`a${n}`, { arrivedAtMs: n }));
  let left = [...many, waiter('b', { arrivedAtMs: 100, projectId: 'b' })];
  const served = new Map<string, number>();
  const order: string[] = [];
  while (left.length > 0) {
    const [next] = inQueueOrder(left, served) as [Waiter, ...Waiter[]];
    order.push(next.requestId);
    served.set(next.projectId, order.length);
    left = left.filter((one) => one !== next);
  }
  expect(order.indexOf('b')).toBe(1);
});

it('is the same whatever the order they come in', () => {
  const some = fc.array(
    fc.record({
      requestId: fc.uuid(),
      projectId: fc.constantFrom('a', 'b', 'c'),
      priority: fc.integer({ min: -1, max: 1 }),
      arrivedAtMs: fc.nat(5),
    }),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(some, (waiters) => {
      expect(namesOf(inQueueOrder(waiters))).toEqual(namesOf(inQueueOrder(waiters.toReversed())));
    }),
  );
});
