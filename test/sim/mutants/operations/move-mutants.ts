import * as moveClaim from '../../../../services/scheduler/decision/move-claim';
import { type Mutant, mutant, withFocus } from '../mutant';
import { withRule } from '../reconcile-mutants';

export const MOVE_MUTANTS: readonly Mutant[] = [
  withFocus(
    withRule('returns-at-once', 'destroying it at its destination before it goes back', ({ record }, step) =>
      record?.migration?.phase === 'leaving' && step.kind === 'destroy' ? { kind: 'record_returning' } : undefined,
    ),
    'move',
  ),
  withFocus(
    mutant(
      'place-is-not-kept',
      'that the place which a member of a group may go back to counts for its policy',
      moveClaim,
      'migrationWrite',
      (original) => (move, held, next, view) => original(move, held, { ...next, group: undefined }, view),
    ),
    'build beside a move',
  ),
  withFocus(
    withRule('waits-for-its-turn-for-ever', 'the end of the time that a claimed move waits', ({ record }, step) =>
      record?.migration?.phase === 'claimed' && step.kind === 'record_reverting' && step.fault?.reason === 'not_begun'
        ? { kind: 'wait', untilMs: record.dueAtMs }
        : undefined,
    ),
    'move together',
  ),
  withFocus(
    withRule('takes-it-back-running', 'that what was stopped before its move is so after it', ({ record }, step) =>
      record?.formerState === 'stopped' && step.kind === 'record_returned' ? { ...step, isStopped: false } : undefined,
    ),
    'move',
  ),
];
