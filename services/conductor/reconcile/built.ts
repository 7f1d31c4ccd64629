import { isAfter } from '#libs/domain/host-position';
import type { Built, Instance, Moving } from '#libs/domain/instance';
import { isLaterWhereItBelongs, isOfPresentAttempt, isOfPresentBuild, isWhereItBelongs } from '../evidence';
import type { Holds, Observation, RunningAt } from '../observation';
import type { Step } from '../step';
import { confirming } from './moves';
import { ASK_POWER, auditedPower, changing, isChanging, powerReported, powerRequested, powerSeen } from './power';
import { evacuateRequested } from './rebuilding';
import {
  adopt,
  adoptOrElsewhere,
  atRest,
  claimedWhereItRuns,
  doubt,
  judgeMissed,
  lateReport,
  none,
  orderSince,
  type Reported,
  recordLost,
} from './shared-steps';
import { shelveRequested } from './shelving';

/** On its host: ACTIVE, `unknown` while the host is silent, stopped, or on its way between them. */
export function built(record: Built, holds: Holds, observed: Observation, nowMs: number): Step {
  const afterMove = confirming(record, observed, nowMs);
  if (afterMove) return afterMove;
  switch (observed.kind) {
    case 'power_requested':
      return powerRequested(record, observed.powerState);
    case 'evacuate_requested':
      return evacuateRequested(record);
    case 'shelve_requested':
      return shelveRequested(record);
    case 'power_reported':
      return powerReported(record, observed);
    case 'reported':
      if (!isOfPresentAttempt(record, observed)) return lateReport(record, observed);
      if (observed.outcome === 'lost') return recordLost(record, observed.why);
      return notReturned(record, observed) ?? builtLater(record, observed);
    case 'missing':
      return observed.host === record.host ? missing(record, observed) : none('at rest');
    case 'running':
      return running(record, observed);
    case 'audited':
      if (record.state === 'active' && observed.hostIs === 'down') return { kind: 'record_unknown' };
      // A report that lacked it was one alone: the next would have said so again, of what holds its claim.
      if (record.state === 'unknown' && observed.hostIs === 'up' && (holds.kind !== 'none' || !isVouched(record))) {
        return { kind: 'record_active', at: record.activeAt, finding: 'found' };
      }
      return auditedPower(record, audited(record, holds));
    case 'terminate_requested':
      return { kind: 'record_deleting' };
    default:
      if (isChanging(record.state)) return changing(record, observed, nowMs);
      return atRest(record, observed, nowMs);
  }
}

/**
 * Its host built it by its present attempt, later than what is known: what the host said in between, and comes after this, is older. A
 * stopped one may be kept stopped there, of which a copy of its order is answered the same: its host is asked.
 */
function builtLater({ state, activeAt }: Built, { outcome, at }: Reported): Step {
  // Agents of an older version have no epoch: what they say has no order.
  const isLater = at.epoch > 0 && isAfter(at, activeAt);
  if (outcome !== 'active' || !isLater) return none('at rest');
  if (state === 'stopped' && activeAt !== undefined) return ASK_POWER;
  return state === 'unknown' ? { kind: 'record_active', at, finding: 'found' } : none('at rest');
}

/** A host's report has it there. */
function running(record: Built, observed: RunningAt): Step {
  // Later orders must name that attempt: the host takes none about an earlier one.
  if (isLaterWhereItBelongs(record, observed)) return adopt(observed);
  if (!isWhereItBelongs(record, observed)) return adoptOrElsewhere(record, observed);
  if (isYetToGoOn(record, observed)) return { kind: 'order_return' };
  const seen = powerSeen(record, observed);
  if (seen) return seen;
  return claimedWhereItRuns(record, observed);
}

/**
 * It went back to a host that was dead, which has said nothing of the present attempt: what it keeps there of an earlier one is to go
 * on, with what it holds now. (The order to do so is of an earlier epoch, or was lost.)
 */
function isYetToGoOn(record: Built, { instance: { attempt, powerState } }: RunningAt): boolean {
  const { attempts } = record;
  const isOfEarlier = attempts.length > 0 && attempt > 0 && attempt < (attempts.at(-1)?.number ?? 0);
  return isReturnUnheard(record) && isOfEarlier && powerState === 'shutdown';
}

function isReturnUnheard({ state, activeAt }: Instance): boolean {
  return (state === 'unknown' || state === 'stopped') && activeAt === undefined;
}

/** The host that it went back to does not go on with it: it is kept there, stopped; or it was ordered by an earlier epoch. */
function notReturned(record: Instance, report: Reported): Step | undefined {
  const { outcome, at, why, isOutdated } = report;
  if (!isReturnUnheard(record) || !isOfPresentBuild(record, report)) return undefined;
  if (isOutdated) return orderSince(record, report);
  const isKept = outcome === 'failed' || outcome === 'refused';
  return isKept ? { kind: 'record_stopped', at, fault: { reason: 'not_started', message: why } } : undefined;
}

/** The report of its host does not have it. */
export function missing(
  record: Built | Moving,
  { at: { epoch }, sequence }: Extract<Observation, { kind: 'missing' }>,
): Step {
  const missingIn = { epoch, sequence };
  switch (judgeMissed(record.missingIn, missingIn)) {
    case 'gone':
      return { ...recordLost(record, 'two reports of its host in a row do not have it'), finding: 'lost' };
    case 'doubt':
      return { kind: 'record_missing', missingIn };
    case 'older':
      return none('older observation');
  }
}

/** An instance on its host whose record and claim have been as they are for a while. */
export function audited(record: Built | Moving, holds: Holds): Step {
  const claimAgain = (replaces: number | undefined) =>
    ({ kind: 'claim_again', replaces, at: undefined, finding: 'claimed_again' }) as const;
  switch (holds.kind) {
    case 'unread':
      return { kind: 'read_claim' };
    case 'none':
      return isVouched(record) ? claimAgain(undefined) : doubt('claim_missing');
    case 'claim':
      if (holds.claimToken === record.claimToken) return none('record and claim agree');
      if (holds.isOnHost) return { kind: 'correct_token', claimToken: holds.claimToken, finding: 'other_claim' };
      return isVouched(record) ? claimAgain(holds.claimToken) : doubt('claim_elsewhere');
  }
}

/** A scheduler's seal says what it holds: it can be claimed again. */
function isVouched({ allocationRequest }: Built | Moving): boolean {
  return allocationRequest.length > 0;
}
