import { type Attempt, attemptNumber, type Instance, isAttemptOpen } from '#libs/domain/instance';
import type { Fault, Holds, Observation, RunningAt } from './observation';
import type { NoneReason, Step } from './step';

/**
 * What to do next about one instance: compares what it wants (its record), what it holds (its claim) and what is (what was
 * observed), and names one step. Every trigger leads here, none has a flow of its own; whoever does the step looks again
 * with what came of it, until nothing is left to do. Pure, and total: the table of all cases in README.md is made from it.
 *
 * A step may be done twice, late, or by two conductors at once: each is guarded by the record's version or the claim's
 * token. (Level-triggered reconciliation, as Kubernetes' controllers do it; the record's version is the fence.)
 *
 * @param record  undefined when there is none
 */
export function reconcile(record: Instance | undefined, holds: Holds, observed: Observation, nowMs: number): Step {
  if (record === undefined) return withoutRecord(holds, observed);
  switch (record.state) {
    case 'scheduling':
      return scheduling(record, observed, nowMs);
    case 'building':
      return isAttemptOpen(record) ? building(record, observed, nowMs) : betweenHosts(record, observed);
    case 'active':
      return active(record, holds, observed);
    case 'error':
      return inError(record, holds, observed);
    case 'deleting':
      return deleting(record, observed, nowMs);
    case 'deleted':
      return atItsEnd(holds, observed);
  }
}

function withoutRecord(holds: Holds, observed: Observation): Step {
  switch (observed.kind) {
    case 'running':
      return { kind: 'adopt', at: observed, finding: 'adopted' };
    case 'reported':
      return lateReport(observed);
    case 'claimed':
      return { kind: 'release', claimToken: observed.target.claimToken };
    case 'audited':
      return releaseOrphan(holds);
    default:
      return none('no record');
  }
}

function scheduling(record: Instance, observed: Observation, nowMs: number): Step {
  switch (observed.kind) {
    case 'accepted':
    case 'interrupted':
      return { kind: 'select_destinations' };
    case 'claimed':
      return { kind: 'dispatch_build', target: observed.target };
    case 'no_host':
      return recordError(observed.fault, undefined, observed.passedOver);
    case 'terminate_requested':
      return { kind: 'record_deleting' };
    case 'reported':
      return lateReport(observed);
    case 'running':
      return destroyStray(observed);
    default:
      return isOverdue(record, nowMs) ? { kind: 'select_destinations' } : wait(record);
  }
}

/** A host works on the present attempt. */
function building(record: Instance, observed: Observation, nowMs: number): Step {
  switch (observed.kind) {
    case 'reported':
      return isOfPresentAttempt(record, observed) ? reportOfBuild(observed) : lateReport(observed);
    case 'order_refused':
      return { kind: 'conclude_attempt', outcome: 'refused', why: observed.reason };
    case 'terminate_requested':
      return { kind: 'record_deleting' };
    case 'missing':
      if (observed.host !== record.host) return wait(record);
      return observed.hasOrdersWaiting
        ? none('its order still waits')
        : { kind: 'order_again', finding: 'ordered_again' };
    case 'running':
      return observed.host === record.host ? none('its report will follow') : destroyStray(observed);
    case 'claimed':
    case 'no_host':
      return none('somebody else goes on with it');
    default:
      if (isOverdue(record, nowMs)) return concludeTimedOut(record);
      return observed.kind === 'interrupted' ? { kind: 'order_again' } : wait(record);
  }
}

/** The present attempt is concluded and the next host is not claimed: whoever looks goes on. */
function betweenHosts(record: Instance, observed: Observation): Step {
  switch (observed.kind) {
    case 'claimed':
      return { kind: 'dispatch_build', target: observed.target };
    case 'no_host':
      return recordError(observed.fault, record.claimToken, observed.passedOver);
    case 'superseded':
      return { kind: 'destroy', host: observed.host, attempt: observed.attempt, reports: false };
    case 'terminate_requested':
      return { kind: 'record_deleting' };
    case 'reported':
      if (observed.outcome === 'active' || !isOfPresentAttempt(record, observed)) return lateReport(observed);
      return { kind: 'claim_next_host' };
    case 'running':
      return observed.host === record.host ? none('somebody else goes on with it') : destroyStray(observed);
    case 'missing':
    case 'audited':
      return wait(record);
    default:
      return { kind: 'claim_next_host' };
  }
}

function active(record: Instance, holds: Holds, observed: Observation): Step {
  switch (observed.kind) {
    case 'reported':
      if (!isOfPresentAttempt(record, observed)) return lateReport(observed);
      return observed.outcome === 'lost' ? recordLost(record, observed.why) : none('at rest');
    case 'missing':
      if (observed.host !== record.host) return none('at rest');
      return { ...recordLost(record, 'its agent no longer reports it'), finding: 'lost' };
    case 'running':
      if (observed.host !== record.host) return destroyStray(observed);
      return { kind: 'claim_again', at: observed, finding: 'claimed_again' };
    case 'audited':
      return audited(record, holds);
    case 'terminate_requested':
      return { kind: 'record_deleting' };
    default:
      return none('at rest');
  }
}

/** An active instance whose record and claim have been as they are for a while. */
function audited(record: Instance, holds: Holds): Step {
  switch (holds.kind) {
    case 'unread':
      return { kind: 'read_claim' };
    case 'none':
      return {
        ...recordLost(record, 'it holds no allocation, and its host did not report it'),
        finding: 'claim_missing',
      };
    case 'claim':
      if (holds.claimToken === record.claimToken) return none('record and claim agree');
      return { kind: 'correct_token', claimToken: holds.claimToken, finding: 'other_claim' };
  }
}

function inError(record: Instance, holds: Holds, observed: Observation): Step {
  switch (observed.kind) {
    case 'interrupted':
      // Nothing rests with a claim: whoever recorded the error may have died before it was released.
      return releaseHeld(holds);
    case 'reported':
      if (observed.outcome === 'active' || !isOfPresentAttempt(record, observed)) return lateReport(observed);
      return observed.isRepeated ? releaseHeld(holds) : none('late report');
    case 'terminate_requested':
      return { kind: 'record_deleting' };
    default:
      return atItsEnd(holds, observed);
  }
}

/** The host destroys it first, then its claim is released: nothing else is placed where it still runs. */
function deleting(record: Instance, observed: Observation, nowMs: number): Step {
  switch (observed.kind) {
    case 'reported':
      if (observed.outcome !== 'destroyed') return lateReport(observed);
      return observed.host === record.host ? { kind: 'close_record', isConfirmed: true } : none('late report');
    case 'running':
      return destroyStray(observed);
    case 'host_gone':
      return { kind: 'close_record', isConfirmed: false };
    case 'claimed':
      return { kind: 'release', claimToken: observed.target.claimToken };
    case 'missing':
    case 'audited':
    case 'no_host':
      return wait(record);
    default:
      if (record.host === undefined) return { kind: 'close_record', isConfirmed: true };
      if (isOverdue(record, nowMs)) return { kind: 'close_record', isConfirmed: false };
      return { kind: 'destroy', host: record.host, attempt: 0, reports: true };
  }
}

/** In ERROR or DELETED: runs nowhere, holds nothing. */
function atItsEnd(holds: Holds, observed: Observation): Step {
  switch (observed.kind) {
    case 'reported':
      return lateReport(observed);
    case 'running':
      return destroyStray(observed);
    case 'claimed':
      return { kind: 'release', claimToken: observed.target.claimToken };
    case 'audited':
      return releaseOrphan(holds);
    default:
      return none('at rest');
  }
}

function reportOfBuild(report: Reported): Step {
  switch (report.outcome) {
    case 'active':
      return { kind: 'record_active' };
    case 'failed':
    case 'refused':
      return { kind: 'conclude_attempt', outcome: report.outcome, why: report.why };
    case 'lost':
      return { kind: 'conclude_attempt', outcome: 'failed', why: report.why };
    case 'destroyed':
      return none('late report');
  }
}

type Reported = Extract<Observation, { kind: 'reported' }>;

/** What an attempt that is over built must not stay. */
function lateReport({ outcome, host, attempt }: Reported): Step {
  return outcome === 'active' ? { kind: 'destroy', host, attempt, reports: false } : none('late report');
}

/** It runs where its record does not have it. */
function destroyStray({ host }: RunningAt): Step {
  return { kind: 'destroy', host, attempt: 0, reports: false, finding: 'destroyed' };
}

function concludeTimedOut({ dueAtMs, attempts }: Instance): Step {
  const limitMs = (dueAtMs ?? 0) - (attempts.at(-1)?.startedAtMs ?? 0);
  return { kind: 'conclude_attempt', outcome: 'timed_out', why: `no answer within ${limitMs} ms` };
}

function recordError(fault: Fault, claimToken: number | undefined, passedOver: readonly Attempt[]) {
  return { kind: 'record_error', fault, claimToken, passedOver } as const;
}

/** It ran and is gone: it keeps nothing, and nobody builds it again without being asked. */
function recordLost({ host, claimToken }: Instance, why: string) {
  const fault = { reason: 'instance_lost', message: `it stopped running on ${host}: ${why}` };
  return recordError(fault, claimToken, []);
}

function releaseHeld(holds: Holds): Step {
  switch (holds.kind) {
    case 'unread':
      return { kind: 'read_claim' };
    case 'none':
      return none('at rest');
    case 'claim':
      return { kind: 'release', claimToken: holds.claimToken };
  }
}

function releaseOrphan(holds: Holds): Step {
  const step = releaseHeld(holds);
  return step.kind === 'release' ? { ...step, finding: 'orphan' } : step;
}

function isOfPresentAttempt(record: Instance, { host, attempt }: Reported): boolean {
  return record.host === host && attemptNumber(record) === attempt;
}

function isOverdue({ dueAtMs }: Instance, nowMs: number): boolean {
  return dueAtMs !== undefined && dueAtMs <= nowMs;
}

function wait({ dueAtMs }: Instance): Step {
  return { kind: 'wait', untilMs: dueAtMs };
}

function none(because: NoneReason): Step {
  return { kind: 'none', because };
}
