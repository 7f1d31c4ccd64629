import * as states from '../../../../libs/domain/instance';
import { HostLease } from '../../../../services/compute-agent/holding/host-lease';
import * as evidence from '../../../../services/conductor/evidence';
import * as fencing from '../../../../services/conductor/steps/fence-host';
import * as ordering from '../../../../services/conductor/steps/orders';
import * as forgetting from '../../../../services/conductor/triggers/forget-ended';
import * as policy from '../../../../services/conductor/triggers/rebuild/wants-rebuild';
import { type Mutant, mutant, mutants, withFocus } from '../mutant';
import { withRule } from '../reconcile-mutants';

export const EVACUATION_MUTANTS: readonly Mutant[] = [
  withFocus(
    mutants(
      'evacuated-stays',
      'destroying what a dead host comes back with, by the order in its queue and by its report',
      mutant('no-order', '', ordering, 'orderDestroy', (original) => async (c, uuid, step) => {
        return step.reports || step.finding ? original(c, uuid, step) : 'told';
      }),
      mutant('not-given-up', '', evidence, 'isGivenUp', (original) => (record, host, attempt) => {
        const isEvacuated = record.attempts.some((one) => one.number === attempt && one.outcome === 'evacuated');
        return !isEvacuated && original(record, host, attempt);
      }),
    ),
    'evacuate a dead host',
  ),
  withFocus(
    mutants(
      'dead-host-is-not-told',
      'ordering a dead host to destroy what is deleted, at once and before its record is forgotten',
      mutant('not-at-once', '', ordering, 'orderDestroy', (original) => async (c, uuid, step, record) => {
        const [host] = await c.placement.hosts([step.host]);
        return step.reports && host?.up === false ? 'host_down' : original(c, uuid, step, record);
      }),
      mutant('nor-later', '', forgetting, 'destroyBeforeForgetting', (original) => (c, records, beforeMs) => {
        const evacuated = records.filter(({ state }) => state !== 'deleted');
        return original(c, evacuated, beforeMs);
      }),
    ),
    'evacuate a dead host',
    'delete dead hosts',
    'terminate',
  ),
  withFocus(
    mutant('comes-up-running', 'that what was stopped is not run elsewhere', states, 'powerStateToBuild', () => () => {
      return 'running';
    }),
    'evacuate a dead host',
    'stop',
  ),
  withFocus(
    mutant(
      'evacuates-unasked',
      'that only what asks for it is evacuated by itself',
      policy,
      'wantsRebuild',
      () => () => {
        return true;
      },
    ),
    'build',
    'agent away for long',
    'agent stays away',
  ),
  withFocus(
    mutant('keeps-the-fence', 'that a host is fenced only for as long as it takes', fencing, 'releaseFence', () => {
      return async () => {};
    }),
    'evacuate a dead host',
  ),
  withFocus(
    mutants(
      'evacuates-the-living',
      'that only a dead host is evacuated',
      mutant('', '', fencing, 'fenceHost', () => async () => undefined as never),
      mutant('', '', fencing, 'declareDead', () => async () => {}),
      mutant('', '', fencing, 'fenceOf', () => async () => ({ fence: undefined as never })),
      mutant('', '', fencing, 'isFenced', () => async () => true),
    ),
    'evacuate',
    'evacuate a dead host',
  ),
  withFocus(
    mutant(
      'starts-unfenced',
      'looking at the lease last, before an instance starts or goes on',
      HostLease.prototype,
      'fence',
      () => () => () => {},
    ),
    'start is evacuated',
  ),
  withRule('never-rebuilt', 'the deadline of what is rebuilt', ({ record, observed }) =>
    record?.state === 'rebuilding' && observed.kind === 'nothing'
      ? { kind: 'wait', untilMs: record.dueAtMs }
      : undefined,
  ),
];
