import { isAfter } from '#libs/domain/host-position';
import { type Attempt, type Instance, type InstanceState, isAttemptOpen } from '#libs/domain/instance';
import { type Build, isGivenUp, isOfPresentAttempt, isOfPresentBuild, isOlder, isWhereItBelongs } from './evidence';
import type { Fault, Holds, Observation, RunningAt } from './observation';
import type { Doubt, NoneReason, Step } from './step';

/**
 * What to do next about one instance: compares what it wants (its record), what it holds (its claim) and what is (what was
 * observed), and names one step. Every trigger leads here, none has a flow of its own; whoever does the step looks again
 * with what came of it, until nothing is left to do. Pure, and total: the table of all cases in README.md is made from it.
 *
 * A step may be done twice, late, or by two conductors at once: each is guarded by the record's version or the claim's
 * token. (Level-triggered reconciliation, as Kubernetes' controllers do it; the record's version is the fence.)
 *
 * Nothing healthy is destroyed by a repair. Only what was terminated is, and an attempt that was given up; all else that
 * does not agree is a doubt. What was observed before the record's host said that it runs there proves nothing.
 *
 * @param record  undefined when there is none
 */
export function reconcile(record: Instance | undefined, holds: Holds, observed: Observation, nowMs: number): Step {
  if (record === undefined) return withoutRecord(holds, observed);
  if (observed.kind === 'disowned') return disowned(record, observed);
  if (isOlder(record, observed)) return none('older observation');
  switch (record.state) {
    case 'scheduling':
      return scheduling(record, observed, nowMs);
    case 'building':
      return isAttemptOpen(record) ? building(record, observed, nowMs) : betweenHosts(record, observed);
    case 'active':
    case 'unknown':
      return active(record, holds, observed);
    case 'error':
      return inError(record, holds, observed);
    case 'deleting':
      return deleting(record, observed, nowMs);
    case 'deleted':
      return deleted(holds, observed);
  }
}

function withoutRecord(holds: Holds, observed: Observation): Step {
  switch (observed.kind) {
    case 'running':
      return observed.voucher ? adopt(observed) : doubt('unknown_instance');
    case 'disowned':
      return destroyDisowned(observed);
    case 'reported':
      return none('late report');
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
      return lateReport(record, observed);
    case 'running':
      return observed.voucher ? adopt(observed) : runsElsewhere(record, observed);
    default:
      return isOverdue(record, nowMs) ? { kind: 'select_destinations' } : wait(record);
  }
}

/** A host works on the present attempt. */
function building(record: Instance, observed: Observation, nowMs: number): Step {
  switch (observed.kind) {
    case 'reported':
      return isOfPresentBuild(record, observed) ? reportOfBuild(observed) : lateReport(record, observed);
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
      if (observed.voucher) return adopt(observed);
      // Its report is on its way, or was lost with what the store has forgotten.
      return isOfPresentBuild(record, { host: observed.host, ...observed.instance })
        ? { kind: 'record_active', at: observed.at, finding: 'found' }
        : runsElsewhere(record, observed);
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
      // By that claim it was tried meanwhile, without success.
      if (observed.target.claimToken <= (record.claimToken ?? 0)) return { kind: 'claim_next_host' };
      return { kind: 'dispatch_build', target: observed.target };
    case 'no_host':
      return recordError(observed.fault, record.claimToken, observed.passedOver);
    case 'superseded': {
      const { host, attempt } = observed;
      return { kind: 'destroy', host, attempt, claimToken: record.claimToken ?? 0, reports: false };
    }
    case 'terminate_requested':
      return { kind: 'record_deleting' };
    case 'reported':
      if (observed.outcome === 'active' || !isOfPresentAttempt(record, observed)) return lateReport(record, observed);
      return { kind: 'claim_next_host' };
    case 'running':
      return observed.voucher ? adopt(observed) : runsElsewhere(record, observed);
    case 'missing':
    case 'audited':
      return wait(record);
    default:
      return { kind: 'claim_next_host' };
  }
}

/** ACTIVE, or `unknown` while its host is silent. */
function active(record: Instance, holds: Holds, observed: Observation): Step {
  switch (observed.kind) {
    case 'reported':
      if (!isOfPresentAttempt(record, observed)) return lateReport(record, observed);
      return observed.outcome === 'lost' ? recordLost(record, observed.why) : none('at rest');
    case 'missing':
      return observed.host === record.host ? missing(record, observed) : none('at rest');
    case 'running':
      return running(record, observed);
    case 'audited':
      if (record.state === 'active' && observed.hostIs === 'down') return { kind: 'record_unknown' };
      // A report that lacked it was one alone: the next would have said so again.
      if (record.state === 'unknown' && observed.hostIs === 'up') {
        return { kind: 'record_active', at: record.activeAt, finding: 'found' };
      }
      return audited(record, holds);
    case 'terminate_requested':
      return { kind: 'record_deleting' };
    default:
      return none('at rest');
  }
}

/** A host's report has it running, and it is active. */
function running(record: Instance, observed: RunningAt): Step {
  if (!isWhereItBelongs(record, observed)) return runsElsewhere(record, observed);
  if (record.state === 'unknown') return { kind: 'record_active', at: observed.at, finding: 'found' };
  if (observed.isClaimed) return none('at rest');
  return { kind: 'claim_again', replaces: undefined, at: observed, finding: 'claimed_again' };
}

/** The report of its host does not have it: a doubt, which the very next report settles. After a gap it begins anew. */
function missing(record: Instance, { at: { epoch }, sequence }: Extract<Observation, { kind: 'missing' }>): Step {
  const last = record.missingIn;
  if (last?.epoch === epoch && sequence === last.sequence + 1) {
    return { ...recordLost(record, 'two reports of its host in a row do not have it'), finding: 'lost' };
  }
  const before = last && { epoch: last.epoch, position: last.sequence };
  if (!isAfter({ epoch, position: sequence }, before)) return none('older observation');
  return { kind: 'record_missing', missingIn: { epoch, sequence } };
}

/** An active instance whose record and claim have been as they are for a while. */
function audited(record: Instance, holds: Holds): Step {
  const isVouched = record.allocationRequest.length > 0;
  const claimAgain = (replaces: number | undefined) =>
    ({ kind: 'claim_again', replaces, at: undefined, finding: 'claimed_again' }) as const;
  switch (holds.kind) {
    case 'unread':
      return { kind: 'read_claim' };
    case 'none':
      return isVouched ? claimAgain(undefined) : doubt('claim_missing');
    case 'claim':
      if (holds.claimToken === record.claimToken) return none('record and claim agree');
      if (holds.isOnHost) return { kind: 'correct_token', claimToken: holds.claimToken, finding: 'other_claim' };
      return isVouched ? claimAgain(holds.claimToken) : doubt('claim_elsewhere');
  }
}

function inError(record: Instance, holds: Holds, observed: Observation): Step {
  switch (observed.kind) {
    case 'interrupted':
      // Nothing rests with a claim: whoever recorded the error may have died before it was released.
      return releaseHeld(holds);
    case 'reported':
      if (observed.outcome === 'active' || !isOfPresentAttempt(record, observed)) return lateReport(record, observed);
      return observed.isRepeated ? releaseHeld(holds) : none('late report');
    case 'running':
      return runsElsewhere(record, observed);
    case 'terminate_requested':
      return { kind: 'record_deleting' };
    default:
      return atItsEnd(holds, observed);
  }
}

/**
 * The host destroys it first, then its claim is released: nothing else is placed where it still runs. A host that is
 * silent owes it: the order waits in its queue, and when it reports the instance it is told again.
 */
function deleting(record: Instance, observed: Observation, nowMs: number): Step {
  switch (observed.kind) {
    case 'reported':
      if (observed.outcome === 'active') return destroyTerminated(observed);
      if (observed.outcome !== 'destroyed' || observed.host !== record.host) return none('late report');
      return { kind: 'close_record', isConfirmed: true };
    case 'running':
      return destroyTerminated({ host: observed.host, attempt: 0, claimToken: observed.instance.claimToken });
    case 'host_gone':
    case 'host_down':
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
      return { kind: 'destroy', host: record.host, attempt: 0, claimToken: record.claimToken ?? 0, reports: true };
  }
}

function deleted(holds: Holds, observed: Observation): Step {
  switch (observed.kind) {
    case 'interrupted':
      // Somebody may have claimed for it between the release and the record's end.
      return releaseHeld(holds);
    case 'reported':
      return observed.outcome === 'active' ? destroyTerminated(observed) : none('late report');
    case 'running':
      return destroyTerminated({ host: observed.host, attempt: 0, claimToken: observed.instance.claimToken });
    default:
      return atItsEnd(holds, observed);
  }
}

/** In ERROR or DELETED: holds nothing. */
function atItsEnd(holds: Holds, observed: Observation): Step {
  switch (observed.kind) {
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
      return { kind: 'record_active', at: report.at };
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

/** What an attempt that was given up built must not stay. What is not of such an attempt stays until its host reports it. */
function lateReport(record: Instance, { outcome, host, attempt, claimToken }: Reported): Step {
  if (outcome !== 'active' || !isGivenUp(record, host, attempt)) return none('late report');
  return { kind: 'destroy', host, attempt, claimToken, reports: false };
}

/** It runs where its record does not have it. */
function runsElsewhere(record: Instance, { host, instance: { attempt, claimToken } }: RunningAt): Step {
  if (!isGivenUp(record, host, attempt)) return doubt('stray');
  return { kind: 'destroy', host, attempt, claimToken, reports: false, finding: 'destroyed' };
}

/** An operator's word destroys what runs where the record does not have it; what it has there is for a terminate. */
function disowned(record: Instance, observed: Disowned): Step {
  const isThere = record.host === observed.host && MAY_RUN.includes(record.state);
  return isThere ? none('its record has it there') : destroyDisowned(observed);
}

const MAY_RUN: readonly InstanceState[] = ['building', 'active', 'unknown'];

function destroyDisowned({ host, attempt, claimToken }: Disowned): Step {
  return { kind: 'destroy', host, attempt, claimToken, reports: false, finding: 'destroyed' };
}

type Disowned = Extract<Observation, { kind: 'disowned' }>;

/** It was terminated, so it is to run nowhere. */
function destroyTerminated({ host, attempt, claimToken }: Build): Step {
  return { kind: 'destroy', host, attempt, claimToken, reports: false, finding: 'destroyed' };
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

function isOverdue({ dueAtMs }: Instance, nowMs: number): boolean {
  return dueAtMs !== undefined && dueAtMs <= nowMs;
}

function adopt(at: RunningAt): Step {
  return { kind: 'adopt', at, finding: 'adopted' };
}

function wait({ dueAtMs }: Instance): Step {
  return { kind: 'wait', untilMs: dueAtMs };
}

function doubt(finding: Doubt): Step {
  return { kind: 'doubt', finding };
}

function none(because: NoneReason): Step {
  return { kind: 'none', because };
}
