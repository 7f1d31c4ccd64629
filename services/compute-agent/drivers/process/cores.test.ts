import { createCoreAssignments } from './cores';

/* Four cores of two threads, 0 to 3 and 4 to 7; 0 and 4 are shared. */

const threadsOf = (cpu: number) => [cpu % 4, (cpu % 4) + 4];
const sets = { shared: [0, 4], dedicated: [1, 2, 3, 5, 6, 7] };
type Policy = 'prefer' | 'isolate' | 'require';
const dedicated = (count: number, threadPolicy?: Policy, emulatorCount = 0) => [
  { count: 0, among: sets.shared, isDedicated: false },
  { count, among: sets.dedicated, isDedicated: true, threadPolicy, emulatorCount },
];

it('puts an instance that requires threads on those of one core, and refuses what is left of several', () => {
  const assignments = createCoreAssignments(sets, threadsOf);
  expect(assignments.assign('a', dedicated(2, 'require')).cores).toEqual([1, 5]);
  expect(assignments.assign('b', dedicated(1, 'isolate')).cores).toEqual([2]);
  expect(assignments.assign('c', dedicated(1)).cores).toEqual([3]);
  expect(() => assignments.assign('d', dedicated(2, 'require'))).toThrow('with thread policy require');
  assignments.release('a');
  expect(assignments.assign('d', dedicated(2, 'require')).cores).toEqual([1, 5]);
});

it('keeps the other threads of an isolated instance from everybody, after a restart too', () => {
  const before = createCoreAssignments(sets, threadsOf);
  const { cores, held } = before.assign('a', dedicated(2, 'isolate'));
  expect([cores, held]).toEqual([
    [1, 2],
    [1, 5, 2, 6],
  ]);
  const after = createCoreAssignments(sets, threadsOf);
  after.restore('a', held);
  for (const assignments of [before, after]) {
    expect(assignments.assign('b', dedicated(2)).cores).toEqual([3, 7]);
    expect(() => assignments.assign('c', dedicated(1))).toThrow('no 1 of its dedicated cores free');
  }
});

it('takes threads of one core first without a policy, and any when there are no others', () => {
  const assignments = createCoreAssignments(sets, threadsOf);
  assignments.assign('a', dedicated(1));
  expect(assignments.assign('b', dedicated(2)).cores).toEqual([2, 6]);
  expect(assignments.assign('c', dedicated(3, 'prefer')).cores).toEqual([3, 7, 5]);
});

it('gives an emulator a core of its own, on which its instance does not run', () => {
  const assignments = createCoreAssignments(sets, threadsOf);
  expect(assignments.assign('a', dedicated(2, 'require', 1))).toEqual({
    cores: [1, 5],
    dedicated: [1, 5],
    emulator: [2],
    held: [1, 5, 2],
  });
  expect(assignments.assign('b', dedicated(2, 'require')).cores).toEqual([3, 7]);
  expect(() => assignments.assign('c', dedicated(1, 'isolate', 1))).toThrow('no 2 of its dedicated cores free');
});

it('remembers who has all dedicated cores where there are no others', () => {
  const assignments = createCoreAssignments({ shared: [], dedicated: [0, 1] });
  const all = [{ count: 2, among: [0, 1], isDedicated: true }];
  expect(assignments.assign('a', all)).toMatchObject({ cores: [], held: [0, 1] });
  expect(() => assignments.assign('b', all)).toThrow('no 2 of its dedicated cores free');
});
