import type { ReconcileInput } from '../../../services/conductor/observation';
import * as reconciling from '../../../services/conductor/reconcile';
import type { Step } from '../../../services/conductor/step';
import { type Mutant, mutant } from './mutant';

/** A rule of `reconcile` that names another step, where it applies. */
type Rule = (look: Omit<ReconcileInput, 'uuid'>, step: Step) => Step | undefined;

const NOTHING: Step = { kind: 'none', because: 'at rest' };

/** A mutant that names another step where a rule says so. */
export function withRule(name: string, without: string, rule: Rule): Mutant {
  return mutant(name, without, reconciling, 'reconcile', (original) => (record, holds, observed, nowMs) => {
    const step = original(record, holds, observed, nowMs);
    return rule({ record, holds, observed }, step) ?? step;
  });
}

export const RECONCILE_MUTANTS: readonly Mutant[] = [
  withRule('strays-stay', 'destroying what runs where its record does not have it', ({ record, observed }, step) =>
    step.kind === 'destroy' && record && observed.kind !== 'nothing' ? NOTHING : undefined,
  ),
  withRule('missing-is-ignored', 'noticing that a host runs an instance no more', ({ record, observed }) =>
    record?.state === 'active' && observed.kind === 'missing' ? NOTHING : undefined,
  ),
  withRule('never-timed-out', 'the deadline of a build', ({ record }, step) =>
    record && step.kind === 'conclude_attempt' && step.outcome === 'timed_out'
      ? { kind: 'wait', untilMs: record.dueAtMs }
      : undefined,
  ),
  withRule('never-selected-again', 'the deadline of scheduling', ({ record, observed }, step) =>
    record && step.kind === 'select_destinations' && observed.kind !== 'accepted'
      ? { kind: 'wait', untilMs: record.dueAtMs }
      : undefined,
  ),
  withRule('deleted-unseen', 'waiting for the host to destroy what is deleted', ({ record }, step) =>
    step.kind === 'destroy' && record?.state === 'deleting' ? { kind: 'close_record', isConfirmed: true } : undefined,
  ),
  withRule('orphans-stay', 'releasing claims without an instance', ({ record, observed }, step) =>
    step.kind === 'release' && (observed.kind === 'audited' || record?.state === 'deleted') ? NOTHING : undefined,
  ),
  withRule('error-keeps-claim', 'releasing the claim of what ends in ERROR', (_look, step) =>
    step.kind === 'release' || (step.kind === 'record_error' && step.claimToken !== undefined)
      ? { ...step, claimToken: 0 }
      : undefined,
  ),
  withRule('next-host-forgotten', 'trying the next host', ({ record }, step) =>
    record && step.kind === 'claim_next_host' ? { kind: 'wait', untilMs: record.dueAtMs } : undefined,
  ),
  withRule('terminate-ignored-while-building', 'terminating what is being built', ({ record, observed }) =>
    record?.state === 'building' && observed.kind === 'terminate_requested' ? NOTHING : undefined,
  ),
];
