import { type Mutant, withFocus } from './mutant';
import { withRule } from './reconcile-mutants';

export const MOVE_MUTANTS: readonly Mutant[] = [
  withFocus(
    withRule('returns-at-once', 'destroying it at its destination before it goes back', ({ record }, step) =>
      record?.migration?.phase === 'leaving' && step.kind === 'destroy' ? { kind: 'record_returning' } : undefined,
    ),
    'move',
  ),
  withFocus(
    withRule('stuck-on-its-way', 'the deadlines of moves', ({ record, observed }) =>
      (record?.state === 'resize' || record?.state === 'revert_resize') && observed.kind === 'nothing'
        ? { kind: 'wait', untilMs: record.dueAtMs }
        : undefined,
    ),
    'move',
  ),
];
