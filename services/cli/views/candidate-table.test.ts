import { parseGroup } from '../commands/group-flag';
import { allocationLinesOf } from './candidate-table';

const plain = { suffix: '', resources: 'DISK_GB:10,MEMORY_MB:5', required: [], forbidden: [], memberOf: [] };

it('tells for which groups a candidate takes what, in the order of the groups, then of the classes', () => {
  const groups = [plain, parseGroup('a:resources=VCPU:1', []), parseGroup('b:required=X', [])];
  const request = {
    allocations: { nfs: { resources: { DISK_GB: 10 } }, host: { resources: { VCPU: 1, MEMORY_MB: 5 } } },
    mappings: { '': ['nfs', 'host'], a: ['host'], b: ['root'] },
  };
  expect(allocationLinesOf(request, groups)).toEqual([
    { groups: [''], providerUuid: 'host', taken: { resourceClass: 'MEMORY_MB', amount: 5 } },
    { groups: [''], providerUuid: 'nfs', taken: { resourceClass: 'DISK_GB', amount: 10 } },
    { groups: ['a'], providerUuid: 'host', taken: { resourceClass: 'VCPU', amount: 1 } },
    { groups: ['b'], providerUuid: 'root', taken: undefined },
  ]);
});

it('names both groups that take the same class of one provider', () => {
  const groups = [parseGroup('a:resources=VF:1', []), parseGroup('b:resources=VF:1', [])];
  const request = { allocations: { nic: { resources: { VF: 2 } } }, mappings: { a: ['nic'], b: ['nic'] } };
  expect(allocationLinesOf(request, groups)).toEqual([
    { groups: ['a', 'b'], providerUuid: 'nic', taken: { resourceClass: 'VF', amount: 2 } },
  ]);
});
