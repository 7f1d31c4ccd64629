import { type Mutant, withFocus } from '../mutant';
import { withRule } from '../reconcile-mutants';

export const SHELVING_MUTANTS: readonly Mutant[] = [
  withFocus(
    withRule('shelves-untold', 'that its host says that nothing is left', ({ record, observed }) =>
      record?.state === 'shelving' && observed.kind === 'interrupted' ? { kind: 'record_shelved' } : undefined,
    ),
    'shelve and unshelve',
  ),
  withFocus(
    withRule('unshelving-forgets', 'the deadline of what is unshelved', ({ record, observed }) =>
      record?.state === 'unshelving' && observed.kind === 'nothing'
        ? { kind: 'wait', untilMs: record.dueAtMs }
        : undefined,
    ),
    'shelve and unshelve',
    'unshelve',
  ),
];
