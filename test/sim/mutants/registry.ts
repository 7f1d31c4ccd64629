import { AGENT_MUTANTS } from './agent-mutants';
import { CONDUCTOR_MUTANTS } from './conductor-mutants';
import { IDENTITY_MUTANTS } from './identity-mutants';
import type { Mutant } from './mutant';
import { RECONCILE_MUTANTS } from './reconcile-mutants';
import { STORE_MUTANTS } from './store-mutants';

/** All mutants; each must break an invariant within `MOST_SEEDS` seeds. */
export const MUTANTS: readonly Mutant[] = [
  ...RECONCILE_MUTANTS,
  ...CONDUCTOR_MUTANTS,
  ...AGENT_MUTANTS,
  ...IDENTITY_MUTANTS,
  ...STORE_MUTANTS,
];

export const MOST_SEEDS = 50;
