import * as allocations from '#libs/placement/commands/allocations';
import * as usage from '#libs/placement/commands/project-usage';
import { type Mutant, mutant } from '../mutant';

export const QUOTA_MUTANTS: readonly Mutant[] = [
  mutant('quotas-not-checked', 'checking quotas in the commit', allocations, 'decideAllocations', (original) => {
    return (state, writes, terms) => original(state, writes, { ...terms, withinQuota: false });
  }),
  mutant('releases-not-counted', 'counting what a project gives back', usage, 'growthOf', (original) => {
    return (writes) => original(writes, []);
  }),
];
