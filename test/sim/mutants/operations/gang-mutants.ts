import * as gang from '#libs/domain/queueing/gang';
import * as serverGroup from '#libs/domain/server-group';
import * as evidence from '../../../../services/conductor/evidence';
import * as lifecycle from '../../../../services/conductor/lifecycle';
import * as reconciling from '../../../../services/conductor/reconcile';
import * as reconcilingGang from '../../../../services/conductor/reconcile/gang';
import * as sharedSteps from '../../../../services/conductor/reconcile/shared-steps';
import * as budget from '../../../../services/conductor/steps/within-budget';
import { type Mutant, mutant, mutants, withFocus } from '../mutant';

export const GANG_MUTANTS: readonly Mutant[] = [
  withFocus(
    mutant('gang-not-undone', 'undoing the others of a gang that has failed', gang, 'gangFault', () => () => undefined),
    'build a gang',
    'lose message',
  ),
  withFocus(
    mutant('gang-of-all', 'that a gang needs its minimum only', gang, 'gangFault', (original) => (members) => {
      return original(
        members.map((one) => (one.gang ? { ...one, gang: { ...one.gang, minCount: one.gang.count } } : one)),
      );
    }),
    'build a gang',
  ),
  withFocus(
    mutant(
      'kinds-as-one',
      'that each kind of a gang has a minimum of its own',
      gang,
      'gangFault',
      (original) => (members) => {
        return original(members.map((one) => (one.gang ? { ...one, gang: { ...one.gang, kind: undefined } } : one)));
      },
    ),
    'build a gang of kinds',
  ),
  withFocus(
    mutant('gang-parted', 'keeping a group within one rack', serverGroup, 'bindingLevels', () => () => undefined),
    'build a gang in a rack',
  ),
  withFocus(
    mutant(
      'gang-not-settled',
      'settling a failure with its gang after a crash',
      reconcilingGang,
      'owesGang',
      () => () => false,
    ),
    'build a gang',
  ),
  withFocus(
    mutant('budget-not-kept', 'keeping disruption budgets', budget, 'withinBudget', () => {
      return (_c, _records, disrupt) => disrupt();
    }),
    'build under a budget',
  ),
  withFocus(
    mutant('lost-not-restored', 'building a lost member of a gang again', sharedSteps, 'recordLost', (original) => {
      return (record, why) => original({ ...record, gang: undefined }, why);
    }),
    'gang loses members',
  ),
  withFocus(
    mutant(
      'stopped-not-restored',
      'building a lost member again that was stopped',
      sharedSteps,
      'recordLost',
      (original) => {
        return (record, why) => {
          const isStopped = record.state === 'stopped' || record.state === 'stopping';
          return original(isStopped ? { ...record, gang: undefined } : record, why);
        };
      },
    ),
    'gang loses members',
  ),
  withFocus(
    mutant('restored-runs', 'that a lost member is restored as it was', lifecycle, 'writeRecord', (original) => {
      return (c, record, change, fence) => {
        const asRunning = change.state === 'pending' ? { ...change, formerState: undefined } : change;
        return original(c, record, asRunning, fence);
      };
    }),
    'gang loses members',
  ),
  withFocus(
    mutant(
      'loss-not-settled',
      'ending a gang that a loss brings below its minimum',
      gang,
      'concernsGang',
      (original) => {
        return (member) => original(member.gang ? { ...member, gang: { ...member.gang, onLoss: undefined } } : member);
      },
    ),
    'gang loses members',
  ),
  withFocus(
    mutants(
      'undone-stays',
      'destroying what was built of a gang that has failed, by an order and by its late reports',
      mutant('not-ordered', '', reconciling, 'reconcile', (original) => (...looked) => {
        const step = original(...looked);
        const isUndone = looked[0]?.state === 'undoing' && step.kind === 'destroy';
        return isUndone ? { kind: 'close_record', isConfirmed: true } : step;
      }),
      mutant('not-given-up', '', evidence, 'isGivenUp', (original) => (record, host, attempt) => {
        const isUndone = record.attempts.some((one) => one.number === attempt && one.outcome === 'rolled_back');
        return !isUndone && original(record, host, attempt);
      }),
    ),
    'build a gang',
  ),
];
