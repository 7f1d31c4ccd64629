import { topicMatches } from './topic';

it.each([
  ['instance.active.p1.u1', 'instance.active.p1.u1', true],
  ['instance.*.p1.*', 'instance.active.p1.u1', true],
  ['instance.*', 'instance.active.p1.u1', false],
  ['instance.#', 'instance.active.p1.u1', true],
  ['instance.#', 'instance', true],
  ['#', 'instance.active', true],
  ['#', '', true],
  ['*', '', false],
  ['#.u1', 'instance.active.p1.u1', true],
  ['#.p1.#', 'instance.active.p1.u1', true],
  ['#.p2.#', 'instance.active.p1.u1', false],
  ['#.*', 'instance', true],
  ['*.#.*', 'instance', false],
  ['instance..u1', 'instance..u1', true],
  ['instance', 'instances', false],
])('%s matches %s: %s', (pattern, topic, expected) => {
  expect(topicMatches(pattern, topic)).toBe(expected);
});
