import { type Mutant, withFocus } from '../mutant';
import { withRule } from '../reconcile-mutants';

export const MOVE_MUTANTS: readonly Mutant[] = [
  withFocus(
    withRule('returns-at-once', 'destroying it at its destination before it goes back', ({ record }, step) =>
      record?.migration?.phase === 'leaving' && step.kind === 'destroy' ? { kind: 'record_returning' } : undefined,
    ),
    'move',
  ),
];
