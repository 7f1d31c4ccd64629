import { classesOf, parseGroup } from './group-flag';

it('reads a group; a part without a key goes on with the value before it', () => {
  const text =
    'net:resources=SRIOV_NET_VF:1,VCPU:2,required=A,!B,required=in:C,D,member_of=x,forbidden=E,in_tree=host-1';
  const group = parseGroup(text, []);
  expect(group).toEqual({
    suffix: 'net',
    resources: 'SRIOV_NET_VF:1,VCPU:2',
    required: ['A,!B', 'in:C,D'],
    forbidden: ['E'],
    memberOf: ['x'],
    inTree: 'host-1',
  });
  expect(classesOf(group)).toEqual(['SRIOV_NET_VF', 'VCPU']);
});

it('takes a group without resources after another', () => {
  const first = parseGroup('a:resources=VCPU:1', []);
  const second = parseGroup('b:required=A', [first]);
  expect([first, second].map((group) => [group.suffix, classesOf(group)])).toEqual([
    ['a', ['VCPU']],
    ['b', []],
  ]);
});

it.each(['', 'net', ':resources=VCPU:1', 'a b:resources=VCPU:1', 'a:', 'a:VCPU', 'a:limit=1', 'a:resources=VCPU:1,'])(
  'refuses %j and shows the form',
  (text) => {
    expect(() => parseGroup(text, [])).toThrow('It must look like NAME:resources=SRIOV_NET_VF:1');
  },
);
