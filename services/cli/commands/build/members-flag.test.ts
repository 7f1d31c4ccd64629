import { parseMembers } from './members-flag';

it('reads a kind by flavor, and one by amounts', () => {
  expect(parseMembers('worker:count=8,min=6,flavor=gpu', [])).toEqual({
    name: 'worker',
    count: 8,
    minCount: 6,
    size: { flavor: { name: 'gpu', version: 0 } },
  });
  expect(parseMembers('ps:VCPU=4,MEMORY_MB=8192', [])).toEqual({
    name: 'ps',
    count: 1,
    minCount: 0,
    size: { resources: { VCPU: 4, MEMORY_MB: 8_192 } },
  });
});

it.each([
  ['no name', 'count=8', 'It must look like'],
  ['no size', 'worker:count=8', 'a flavor or amounts'],
  ['a flavor and amounts', 'worker:flavor=gpu,VCPU=1', 'a flavor or amounts'],
  ['an unknown class', 'worker:GPUS=1', "There is no resource class 'GPUS'"],
  ['a minimum above the count', 'worker:count=2,min=3,VCPU=1', 'At most 2'],
  ['a count that is no number', 'worker:count=many,VCPU=1', ''],
])('refuses %s', (_, text, message) => {
  expect(() => parseMembers(text, [])).toThrow(message);
});

it('refuses two kinds of one name', () => {
  const first = parseMembers('worker:VCPU=1', []);
  expect(() => parseMembers('worker:VCPU=2', [first])).toThrow("Two kinds are called 'worker'");
});
