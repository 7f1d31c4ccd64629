import * as lifecycle from '../../../../services/conductor/lifecycle';
import * as moveClaim from '../../../../services/scheduler/decision/move-claim';
import { type Mutant, mutant, withFocus } from '../mutant';
import { withRule } from '../reconcile-mutants';

/** A host of a move dies. */
const WITH_THE_DEAD = ['move', 'decide on a move', 'evacuate a dead host'] as const;

export const MOVE_MUTANTS: readonly Mutant[] = [
  withFocus(
    withRule('returns-at-once', 'destroying it at its destination before it goes back', ({ record }, step) =>
      record?.migration?.phase === 'leaving' && step.kind === 'destroy' ? { kind: 'record_returning' } : undefined,
    ),
    'move',
  ),
  withFocus(
    mutant(
      'calls-are-not-known-again',
      'the last call on record, by which a copy of it is answered',
      lifecycle,
      'readRecord',
      (original) => async (c, uuid) => {
        const record = await original(c, uuid);
        return record && { ...record, lastCall: undefined };
      },
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
  withFocus(
    withRule('source-is-not-asked', 'asking the source of a move before it goes back', (_look, step) =>
      step.kind === 'record_reverting' && step.asksSource ? { ...step, asksSource: false } : undefined,
    ),
    'source loses its copy',
  ),
  withFocus(
    withRule('dead-destination-awaited', 'going back from a destination that is dead', ({ record }, step) =>
      record?.migration && step.kind === 'fence_host' ? { kind: 'wait', untilMs: record.dueAtMs } : undefined,
    ),
    ...WITH_THE_DEAD,
    'agent stays away',
  ),
  withFocus(
    withRule('dead-source-awaited', 'the end of a move whose source is dead', ({ record }, step) =>
      step.kind === 'record_return_awaited' ? { kind: 'wait', untilMs: record?.dueAtMs } : undefined,
    ),
    ...WITH_THE_DEAD,
    'agent stays away',
  ),
];
