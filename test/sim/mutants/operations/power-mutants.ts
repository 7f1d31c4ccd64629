import * as judging from '../../../../services/compute-agent/host/judge-power-state';
import * as recovering from '../../../../services/compute-agent/host/recover';
import * as operating from '../../../../services/conductor/triggers/operate-instance';
import * as finding from '../../../../services/scheduler/reports/discrepancies';
import { type Mutant, mutant, mutants, withFocus } from '../mutant';
import { withRule } from '../reconcile-mutants';

export const POWER_MUTANTS: readonly Mutant[] = [
  withRule('stop-is-told-once', 'telling a host again that did not stop or start in time', ({ record }, step) =>
    step.kind === 'set_power_state' && !step.isFirst && record?.state !== 'stopped'
      ? { kind: 'wait', untilMs: record?.dueAtMs }
      : undefined,
  ),
  withRule('late-power-is-believed', 'the order of what a host says', ({ record, observed }) => {
    if (observed.kind !== 'power_reported' || record === undefined) return undefined;
    if (record.state !== 'starting' && record.state !== 'stopping') return undefined;
    return observed.powerState === 'running'
      ? { kind: 'record_active', at: observed.at }
      : record.state === 'stopping'
        ? { kind: 'record_stopped', at: observed.at }
        : undefined;
  }),
  withFocus(
    mutants(
      'forgotten-start-unseen',
      'asking after what is stopped, and hearing all that runs after a loss',
      withRule('', '', ({ record }, step) =>
        step.kind === 'set_power_state' && record?.state === 'stopped'
          ? { kind: 'none', because: 'at rest' }
          : undefined,
      ),
      mutant('', '', finding, 'findDifference', (original) => async (stats, deps) => {
        const difference = await original(stats, deps);
        const isStopped = ({ powerState }: { powerState?: string | undefined }) => powerState === 'shutdown';
        return difference && { ...difference, present: difference.present.filter(isStopped) };
      }),
    ),
    'store forgets an operation',
    'stop',
    'start',
  ),
  withFocus(
    mutant(
      'late-power-is-set',
      'that a late order to stop or to start does nothing',
      judging,
      'judgePowerState',
      (original) => {
        return (order, tracked, epoch) => original({ ...order, restsOnEpoch: 0 }, tracked, epoch);
      },
    ),
    'stop and start',
    'disk goes back',
  ),
  mutant(
    'stopped-is-half-built',
    'keeping what is stopped over a restart',
    recovering,
    'recoverInstances',
    (original) => {
      return (host, remembered) =>
        original(
          host,
          remembered.map((one) => (one.state === 'stopped' ? { ...one, state: 'building' } : one)),
        );
    },
  ),
  withFocus(
    mutant(
      'stop-comes-late',
      'that a copy of a stop does nothing after a start',
      operating,
      'operateInstance',
      (original) => {
        return (c, request, sender) => original(c, { ...request, version: 0 }, sender);
      },
    ),
    'stop and start',
    'slow down',
    'lose message',
  ),
  mutant('stopped-is-not-told', 'telling conductors what is stopped', finding, 'findDifference', (original) => {
    return async (stats, deps) => {
      const difference = await original(stats, deps);
      return (
        difference && {
          ...difference,
          present: difference.present.filter(({ powerState }) => powerState === undefined),
        }
      );
    };
  }),
];
