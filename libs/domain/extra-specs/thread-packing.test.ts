import { threadPackings } from './thread-packing';

const first = (policy: string | undefined, count: number, cores: readonly (readonly number[])[]) =>
  threadPackings({ cores, threadsPerCore: 2 }, policy, count).next().value;

it.each([
  ['require', 2, [[0], [1, 5], [2, 6]], [1, 5]],
  ['require', 3, [[0], [1, 5], [2, 6]], [1, 5, 2]],
  ['require', 2, [[0], [1]], undefined],
  ['prefer', 2, [[0], [1, 5]], [1, 5]],
  ['prefer', 3, [[0], [1, 5]], [0, 1, 5]],
  [undefined, 2, [[0], [1]], [0, 1]],
  ['isolate', 2, [[0], [1, 5], [2, 6]], [1, 2]],
  ['isolate', 2, [[0], [1, 5]], undefined],
  ['prefer', 4, [[0], [1, 5]], undefined],
  ['prefer', 0, [[0]], undefined],
] as const)('with %s it puts %d processors on the threads %j as %j', (policy, count, cores, expected) => {
  expect(first(policy, count, cores)).toEqual(expected);
});
