import * as quotas from '#libs/domain/quotas/quota';
import * as allocations from '#libs/placement/commands/allocations';
import * as usage from '#libs/placement/commands/project-usage';
import { type Mutant, mutant, withFocus } from '../mutant';

export const QUOTA_MUTANTS: readonly Mutant[] = [
  mutant('quotas-not-checked', 'checking quotas in the commit', allocations, 'decideAllocations', (original) => {
    return (state, writes, terms) => original(state, writes, { ...terms, withinQuota: false });
  }),
  mutant('releases-not-counted', 'counting what a project gives back', usage, 'growthOf', (original) => {
    return (writes) => original(writes, []);
  }),
  withFocus(
    mutant('borrows-without-bound', 'how much a project may borrow', quotas, 'excessOf', (original) => (...about) => {
      return original(...about).filter(({ scope }) => scope !== 'project');
    }),
    'tenants lend each other',
  ),
  withFocus(
    mutant('cohort-without-sum', 'that a cohort lends what it has', quotas, 'excessOf', (original) => (...about) => {
      return original(...about).filter(({ scope }) => scope !== 'cohort');
    }),
    'tenants lend each other',
  ),
];
