import { ACK, POSTPONE } from '#libs/bus/port';
import * as ending from '../../../services/compute-agent/host/ended/ended-builds';
import * as claiming from '../../../services/compute-agent/host/instance-claim';
import * as recovering from '../../../services/compute-agent/host/recover';
import * as destroying from '../../../services/compute-agent/orders/take-destroy';
import * as reporting from '../../../services/compute-agent/reports/report-build';
import { Machine } from '../machine';
import { type Mutant, mutant, withFocus } from './mutant';

export const AGENT_MUTANTS: readonly Mutant[] = [
  mutant('agent-takes-all', "the agent's own claim", claiming, 'judgeBuild', (original) => (...args) => {
    const judgement = original(...args);
    return judgement.kind === 'refuse' ? { kind: 'build' } : judgement;
  }),
  withFocus(
    mutant(
      'claims-not-looked-at',
      'checking what was claimed, provider by provider',
      claiming,
      'judgeBuild',
      (original) => {
        return (order, ...rest) => original({ ...order, allocations: {} }, ...rest);
      },
    ),
    'part vanishes',
    'machine shrinks',
  ),
  mutant('unknown-goes-round', 'answering an order about what is not there', destroying, 'takeDestroy', (original) => {
    return async (host, order) => (host.ledger.get(order.instanceUuid) ? original(host, order) : POSTPONE);
  }),
  mutant('destroy-is-said-only', 'destroying what is ordered to be destroyed', destroying, 'takeDestroy', () => {
    return async (host, { instanceUuid, report }) => {
      if (!report) return ACK;
      return reporting.reportBuild(
        host,
        { instanceUuid, attempt: 0, claimToken: 0, alternates: [] },
        reporting.DESTROYED,
      );
    };
  }),
  mutant('restart-destroys', 'adopting what runs after a restart', recovering, 'recoverInstances', (original) => {
    return (host, remembered) =>
      original(
        host,
        remembered.map((instance) => ({ ...instance, state: 'building' })),
      );
  }),
  withFocus(
    mutant(
      'destroyed-is-forgotten',
      'remembering over a restart what was destroyed',
      ending,
      'createEndedBuilds',
      (original) => (parts) => {
        const ended = original(parts);
        return { ...ended, keep: async (one) => (one.result ? ended.keep(one) : undefined) };
      },
    ),
    'orders outlive their instances',
  ),
  mutant('no-journal', 'the journal of instances', Machine.prototype, 'journal', (original) => {
    return function journal(this: Machine) {
      return { ...original.call(this), put: async () => {} };
    };
  }),
];
