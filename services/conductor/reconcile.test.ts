import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { canTransition, FIRST_STATES, type InstanceState } from '#libs/domain/instance';
import { reconcile } from './reconcile';
import type { Step } from './step';
import { caseTable } from './testing/case-table';
import { type Case, NOW_MS, reconcileCases } from './testing/reconcile-cases';

const cases = [...reconcileCases()];
const stepOf = ({ record, holds, observed }: Case) => reconcile(record, holds, observed, NOW_MS);

/** The state that a step writes. */
const WRITES: Partial<Record<Step['kind'], InstanceState | 'same'>> = {
  dispatch_build: 'building',
  conclude_attempt: 'building',
  record_active: 'active',
  record_error: 'error',
  record_deleting: 'deleting',
  close_record: 'deleted',
  claim_again: 'same',
  correct_token: 'same',
};

it('has the table of all its cases in the README: npm run reconcile-table', () => {
  expect(readFileSync(join(__dirname, 'README.md'), 'utf8')).toContain(`\n${caseTable()}\n`);
});

it('writes only what the lifecycle allows', () => {
  for (const one of cases) {
    const written = WRITES[stepOf(one).kind];
    if (written === undefined) continue;
    expect(one.state).not.toBe('no record');
    const from = one.state as InstanceState;
    expect([from, canTransition(from, written === 'same' ? from : written)]).toEqual([from, true]);
  }
  expect(FIRST_STATES).toContain('active');
});

it('makes an instance ACTIVE only on the word of its host about its open attempt', () => {
  const activating = cases.filter((one) => stepOf(one).kind === 'record_active');
  const told = new Set(activating.map(({ state, attempt, observation }) => `${state}, ${attempt}: ${observation}`));
  expect([...told]).toEqual(['building, open: active', 'building, open: active (repeated)']);
});

it('destroys an active instance on its own host for nothing but a terminate', () => {
  const onOwnHost = cases.filter((one) => {
    const step = stepOf(one);
    return one.state === 'active' && one.attempt === 'concluded' && step.kind === 'destroy' && step.host === 'h1';
  });
  expect(new Set(onOwnHost.map(({ observation, hasHost }) => hasHost && observation))).not.toContain('active');
  expect(onOwnHost.filter(({ observation, hasHost }) => hasHost && !observation.startsWith('late'))).toEqual([]);
});

it('releases a claim only of a record that is at its end, is deleting, or is not there', () => {
  for (const one of cases) {
    if (stepOf(one).kind !== 'release') continue;
    expect(['no record', 'error', 'deleting', 'deleted']).toContain(one.state);
  }
});

it('acts on every record that is not at rest once its deadline has passed, and on no other', () => {
  const overdue = cases.filter(({ observation, isOverdue }) => observation === 'nothing' && isOverdue);
  const acts = new Set(overdue.filter((one) => !['none', 'wait'].includes(stepOf(one).kind)).map(({ state }) => state));
  const rests = new Set(overdue.filter((one) => stepOf(one).kind === 'none').map(({ state }) => state));
  expect([...acts]).toEqual(['scheduling', 'building', 'deleting']);
  expect([...rests]).toEqual(['no record', 'active', 'error', 'deleted']);
});
