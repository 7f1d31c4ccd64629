import { aRequestSpec } from '../../testing/instances/request-spec';
import { aGroup, aQuery, linesOf } from '../../testing/placement/candidates';
import { openForest } from '../../testing/placement/forest';
import { findCandidates } from './find-candidates';
import { queryFromRequestSpec } from './query';

it('asks for what the spec requires, not for what it prefers', () => {
  const device = aGroup('_NIC', { SRIOV_NET_VF: 1 }, { requiredTraits: [['CUSTOM_PHYSNET_0']] });
  const spec = aRequestSpec({
    resources: { VCPU: 2 },
    requiredTraits: ['HW_CPU_X86_AVX', 'HW_CPU_X86_SSE'],
    forbiddenTraits: ['CUSTOM_OLD'],
    preferredTraits: ['STORAGE_DISK_SSD'],
    preferredResources: { VGPU: 1 },
    memberOf: [['a1', 'a2']],
    forbiddenAggregates: ['a3'],
    requestGroups: [device],
    groupPolicy: 'isolate',
  });
  const own = aGroup(
    '',
    { VCPU: 2 },
    {
      requiredTraits: [['HW_CPU_X86_AVX'], ['HW_CPU_X86_SSE']],
      forbiddenTraits: ['CUSTOM_OLD'],
      memberOf: [['a1', 'a2']],
      forbiddenAggregates: ['a3'],
    },
  );
  expect(queryFromRequestSpec(spec)).toEqual(aQuery([own, device], { groupPolicy: 'isolate' }));
});

it('finds the devices of a host for a spec with request groups', async () => {
  const forest = await openForest([
    { name: 'cn1', has: { VCPU: 8 } },
    { name: 'cn2', has: { VCPU: 8 } },
    { name: 'gpu', parent: 'cn2', has: { VGPU: 4 } },
  ]);
  const spec = aRequestSpec({ resources: { VCPU: 2 }, requestGroups: [aGroup('_GPU', { VGPU: 1 })] });
  const { candidates } = findCandidates(forest.view, queryFromRequestSpec(spec));
  expect(linesOf(candidates, forest.nameOf)).toEqual(['cn2 VCPU:2 + gpu VGPU:1']);
  await forest.close();
});
