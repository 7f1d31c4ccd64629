import * as ordering from '../../../../libs/domain/queueing/queue-order';
import * as orders from '../../../../services/conductor/steps/orders';
import { type Mutant, mutant, withFocus } from '../mutant';
import { withRule } from '../reconcile-mutants';

export const QUEUE_MUTANTS: readonly Mutant[] = [
  withFocus(
    withRule('requeued-before-destroyed', 'waiting until the host has destroyed what makes room', ({ record }, step) =>
      record?.state === 'preempting' && step.kind === 'destroy' ? { kind: 'record_requeued' } : undefined,
    ),
    'fleet is crowded',
    'build that preempts',
    'cut off',
    'slow down',
  ),
  withFocus(
    withRule('time-limit-is-ignored', 'the end of what has a time limit', (_look, step) =>
      step.kind === 'record_deleting' && step.fault?.reason === 'time_limit'
        ? { kind: 'none', because: 'at rest' }
        : undefined,
    ),
    'build that waits',
  ),
  withFocus(
    withRule('waits-for-ever', 'the end of the time to wait', ({ record }, step) =>
      record?.state === 'pending' && step.kind === 'record_error' ? { kind: 'wait', untilMs: undefined } : undefined,
    ),
    'fleet is crowded',
  ),
  withFocus(
    mutant('first-come-first-served', 'the order of priorities', ordering, 'inQueueOrder', () => {
      return (waiters) => waiters.toSorted((a, b) => a.arrivedAtMs - b.arrivedAtMs);
    }),
    'build that waits',
    'fleet is crowded',
    'terminate',
  ),
  withFocus(
    mutant(
      'destroy-is-ordered-once',
      'ordering a destruction again before a record is closed without word',
      orders,
      'orderDestroy',
      (original) => {
        return async (c, uuid, step) => (step.attempt === 0 && !step.reports ? 'host_down' : original(c, uuid, step));
      },
    ),
    'build that waits',
    'evacuate a dead host',
    'cut off',
    'die in the middle',
  ),
];
