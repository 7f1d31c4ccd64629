import { Command } from '@commander-js/extra-typings';
import { addRequestFlags, requestSpecOf } from './request-flags';

function parse(...args: string[]) {
  const command = addRequestFlags(new Command('build'))
    .exitOverride()
    .configureOutput({ writeErr() {} });
  command.parse(args, { from: 'user' });
  return requestSpecOf(command.opts(), []);
}

it('turns flags into a request spec', () => {
  const uuid = '6f1f36c4-52f9-4a3c-9f6f-0d2f0a4b7a11';
  const line = `--vcpu 2 --memory-mb 512 --resource VGPU=1 --resource CUSTOM_GOLD=2
    --trait CUSTOM_HW_A --trait CUSTOM_HW_B --forbid-trait CUSTOM_HW_C --prefer-trait CUSTOM_HW_D --prefer-resource DISK_GB=100
    --zone east --group web:anti-affinity:2 --same-host ${uuid}
    --image-property hw_architecture=x86_64 --extra-spec tier=a=b --project p --user u`;
  const spec = parse(...line.split(/\s+/));
  expect(spec).toMatchObject({
    projectId: 'p',
    userId: 'u',
    resources: { VCPU: 2, MEMORY_MB: 512, VGPU: 1, CUSTOM_GOLD: 2 },
    requiredTraits: ['CUSTOM_HW_A', 'CUSTOM_HW_B'],
    forbiddenTraits: ['CUSTOM_HW_C'],
    preferredTraits: ['CUSTOM_HW_D'],
    preferredResources: { DISK_GB: 100 },
    availabilityZone: 'east',
    group: { id: 'web', policy: 'anti-affinity', maxPerHost: 2 },
    sameHost: [uuid],
    imageProperties: { hw_architecture: 'x86_64' },
    extraSpecs: { tier: 'a=b' },
  });
});

it('names a stored group by its name alone', () => {
  expect(parse('--vcpu', '1', '--group', 'web').group).toEqual({ id: 'web', policy: undefined, maxPerHost: 0 });
  expect(() => parse('--vcpu', '1', '--group')).toThrow('argument missing');
  expect(() => parse('--vcpu', '1', '--group', 'web:near')).toThrow('NAME or NAME:POLICY');
});

it('names a flavor instead of resources and extra specs', () => {
  expect(parse('--flavor', 'm1.small', '--prefer-resource', 'VGPU=1')).toMatchObject({
    flavor: { name: 'm1.small', version: 0 },
    resources: {},
    preferredResources: { VGPU: 1 },
  });
  for (const own of [
    ['--vcpu', '1'],
    ['--extra-spec', 'rack=r1'],
  ]) {
    expect(() => parse('--flavor', 'm1.small', ...own)).toThrow('use --flavor or --vcpu/--memory-mb, not both');
  }
  expect(() => parse()).toThrow('the request asks for no resources');
});

it('turns request groups into those of the spec', () => {
  const [tree, red, blue] = ['1', '2', '3'].map((digit) => `aaaaaaaa-0000-4000-8000-00000000000${digit}`);
  const line = `--disk-gb 1 --request-group numa:resources=VCPU:2,MEMORY_MB:512,required=CUSTOM_HW_A,!CUSTOM_HW_B,required=in:CUSTOM_HW_C,CUSTOM_HW_D
    --request-group net:resources=SRIOV_NET_VF:1,member_of=${red},${blue},member_of=!${tree},in_tree=${tree}
    --isolate-groups --same-subtree numa,net --root-trait CUSTOM_HW_E --forbid-root-trait CUSTOM_HW_F`;
  expect(parse(...line.split(/\s+/))).toMatchObject({
    requestGroups: [
      {
        suffix: 'numa',
        resources: { VCPU: 2, MEMORY_MB: 512 },
        requiredTraits: [['CUSTOM_HW_A'], ['CUSTOM_HW_C', 'CUSTOM_HW_D']],
        forbiddenTraits: ['CUSTOM_HW_B'],
      },
      { suffix: 'net', memberOf: [[red, blue]], forbiddenAggregates: [tree], inTree: tree },
    ],
    groupPolicy: 'isolate',
    sameSubtrees: [['numa', 'net']],
    rootRequiredTraits: ['CUSTOM_HW_E'],
    rootForbiddenTraits: ['CUSTOM_HW_F'],
  });
});

it('keeps nothing from one parse to the next', () => {
  parse('--vcpu', '1', '--trait', 'CUSTOM_HW_A', '--resource', 'VGPU=1');
  expect(parse('--vcpu', '1')).toMatchObject({ resources: { VCPU: 1 }, requiredTraits: [] });
});

it.each([
  [['--vcpu', '0'], 'whole number from 1'],
  [['--vcpu', '1.5'], 'whole number from 1'],
  [['--vcpu', '-1'], 'whole number from 1'],
  [['--resource', 'VGPU'], 'CLASS=N'],
  [['--resource', 'vgpu=1'], 'did you mean VGPU?'],
  [['--trait', 'fast disk'], 'There is no trait'],
  [['--group', 'web:near'], 'NAME:POLICY'],
  [['--extra-spec', '=x'], 'key=value'],
  [['--request-group', 'numa'], 'NAME:resources='],
  [['--request-group', 'numa:resources=vcpu:1'], 'no resource class'],
  [['--request-group', 'numa:resources=VCPU:0'], 'whole number from 1'],
  [['--request-group', 'numa:resources=VCPU:1,in_tree=host-1'], 'no UUID'],
  [['--request-group', 'a:resources=VCPU:1', '--request-group', 'a:resources=VCPU:1'], 'a group a already'],
])('refuses %p and says what it must be', (args, problem) => {
  expect(() => parse('--memory-mb', '1', ...args)).toThrow(problem);
});

it('refuses a request for nothing', () => {
  expect(() => parse('--zone', 'east')).toThrow('asks for no resources');
});
