import type { HostPosition } from '#libs/domain/host-position';
import {
  BUILT_STATES,
  type Building,
  type Ending,
  type Instance,
  type InstanceState,
  isAttemptOpen,
  MAX_SCHEDULING_MS,
  NOT_SCHEDULED,
  powerStateToBuild,
  type Unplaced,
} from '#libs/domain/instance';
import { type Build, isOfAnother, isOfPresentAttempt, isOfPresentBuild, isOlder } from './evidence';
import type { Holds, Observation } from './observation';
import { built } from './reconcile/built';
import { gangFailed, givenUp, owesGang } from './reconcile/gang';
import { groupGoesBack, isMoveWish, moveAsked } from './reconcile/moves';
import { arrived, moving, reverting } from './reconcile/moving';
import { evacuatedMayWait, mayWait, pending, recordPending } from './reconcile/pending';
import { preempted, preempting } from './reconcile/preempting';
import { evacuateRequested, rebuilding } from './reconcile/rebuilding';
import {
  adopt,
  adoptOrElsewhere,
  destroyKept,
  doubt,
  isOverdue,
  lateReport,
  none,
  type Reported,
  recordError,
  recordRestoring,
  releaseHeld,
  releaseOrphan,
  runsElsewhere,
  wait,
} from './reconcile/shared-steps';
import { shelved, shelving, unshelving } from './reconcile/shelving';
import type { Finding, Step } from './step';

/**
 * Names the next step for one instance from what it wants (its record), what it holds (its claim) and what is (the
 * observation). Every trigger leads here, none has a flow of its own; the step's executor looks again with its outcome,
 * until nothing is left to do. Pure, and total: the table of all cases in README.md is made from it.
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
  if (observed.kind === 'preempted') return preempted(record, observed);
  if (observed.kind === 'capacity_changed' && record.state !== 'pending') return none('somebody else goes on with it');
  if (isOlder(record, observed)) return none('older observation');
  if (observed.kind === 'running' && isOfAnother(record, observed)) return doubt('stray');
  if (observed.kind === 'gang_failed') return gangFailed(record, observed.fault);
  if (owesGang(record)) return { kind: 'settle_gang' };
  if (observed.kind === 'given_up') return givenUp(record, observed);
  if (isMoveWish(observed)) return moveAsked(record, observed);
  if (observed.kind === 'group_goes_back') return groupGoesBack(record, observed);
  // Somebody else has it elsewhere by now, on a host that nobody has fenced.
  if (observed.kind === 'evacuate_requested' && observed.host !== (record.host ?? '')) return none('not on its host');
  if (observed.kind === 'evacuate_requested' && record.migration) return evacuateRequested(record);
  if (observed.kind === 'unshelve_requested' && record.state !== 'shelved_offloaded') return none('not shelved');
  const isOnItsWay = record.state === 'resize' || record.state === 'migrating';
  const isAnswer = observed.kind === 'power_reported' && (isOnItsWay || record.migration?.awaitsSource);
  const isEvacuated = observed.kind === 'evacuate_requested' && isAttemptOpen(record);
  const isOfBuilt = BUILT_STATES.includes(record.state) || isAnswer || isEvacuated;
  if (isAboutBuilt(observed) && !isOfBuilt) return none('not on its host');
  switch (record.state) {
    case 'scheduling':
      return scheduling(record, observed, nowMs);
    case 'pending':
      return pending(record, holds, observed, nowMs);
    case 'building':
      return isAttemptOpen(record) ? building(record, observed, nowMs) : betweenHosts(record, observed);
    case 'active':
    case 'unknown':
    case 'stopping':
    case 'stopped':
    case 'starting':
      return built(record, holds, observed, nowMs);
    case 'rebuilding':
      return rebuilding(record, observed, nowMs);
    case 'preempting':
      return preempting(record, observed, nowMs);
    case 'resize':
    case 'migrating':
      return moving(record, observed, nowMs);
    case 'verify_resize':
      return arrived(record, holds, observed, nowMs);
    case 'revert_resize':
      return reverting(record, observed, nowMs);
    case 'shelving':
      return shelving(record, observed, nowMs);
    case 'shelved_offloaded':
      return shelved(record, holds, observed, nowMs);
    case 'unshelving':
      return unshelving(record, observed, nowMs);
    case 'error':
      return inError(record, holds, observed);
    case 'undoing':
      return observed.kind === 'terminate_requested' ? { kind: 'record_deleting' } : deleting(record, observed, nowMs);
    case 'deleting':
      return deleting(record, observed, nowMs);
    case 'deleted':
      return deleted(holds, observed);
  }
}

function withoutRecord(holds: Holds, observed: Observation): Step {
  switch (observed.kind) {
    case 'running':
      if (observed.wasStray) return doubt('stray');
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

function scheduling(record: Unplaced, observed: Observation, nowMs: number): Step {
  switch (observed.kind) {
    case 'accepted':
    case 'interrupted':
      return { kind: 'select_destinations' };
    case 'claimed':
      return { kind: 'dispatch_build', target: observed.target };
    case 'no_host':
      return mayWait(record, observed)
        ? recordPending(observed)
        : recordError(observed.fault, undefined, observed.passedOver);
    case 'terminate_requested':
      return { kind: 'record_deleting' };
    case 'reported':
      return lateReport(record, observed);
    case 'running':
      return adoptOrElsewhere(record, observed);
    default:
      if (!isOverdue(record, nowMs)) return wait(record);
      if (nowMs - record.createdAtMs >= MAX_SCHEDULING_MS) return recordError(NOT_SCHEDULED, undefined, []);
      return { kind: 'select_destinations' };
  }
}

/** A host works on the present attempt. */
function building(record: Building, observed: Observation, nowMs: number): Step {
  switch (observed.kind) {
    case 'reported':
      return isOfPresentBuild(record, observed) ? reportOfBuild(record, observed) : lateReport(record, observed);
    case 'order_refused':
      return { kind: 'conclude_attempt', outcome: 'refused', why: observed.reason };
    case 'evacuate_requested':
      return { kind: 'record_rebuilding' };
    case 'terminate_requested':
      return { kind: 'record_deleting' };
    case 'audited':
      if (observed.hostIs !== 'down') return isOverdue(record, nowMs) ? concludeTimedOut(record) : wait(record);
      return { kind: 'conclude_attempt', outcome: 'timed_out', why: 'its host is down' };
    case 'missing':
      if (observed.host !== record.host) return wait(record);
      return observed.hasOrdersWaiting
        ? none('its order still waits')
        : { kind: 'order_again', finding: 'ordered_again' };
    case 'running':
      if (observed.voucher) return adopt(observed);
      // Its report is on its way, or was lost with what the store has forgotten.
      return isOfPresentBuild(record, { host: observed.host, ...observed.instance })
        ? builtNow(record, observed.at, 'found')
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
function betweenHosts(record: Building, observed: Observation): Step {
  switch (observed.kind) {
    case 'claimed':
      // A store that went back has an earlier claim than the record: nobody builds by that any more.
      if (observed.target.claimToken < record.claimToken)
        return { kind: 'release', claimToken: observed.target.claimToken };
      // By that claim it was tried meanwhile, without success.
      if (observed.target.claimToken === record.claimToken) return { kind: 'claim_next_host' };
      return { kind: 'dispatch_build', target: observed.target };
    case 'no_host':
      // A shelved instance stays shelved: it lost nothing.
      if (record.formerState === 'shelved_offloaded')
        return { kind: 'record_shelved', fault: observed.fault, passedOver: observed.passedOver };
      if (evacuatedMayWait(record, observed)) return recordRestoring(observed.fault);
      return recordError(observed.fault, record.claimToken, observed.passedOver);
    case 'alternates_expired':
      return { kind: 'select_destinations' };
    case 'superseded': {
      const { host, attempt } = observed;
      return { kind: 'destroy', host, attempt, claimToken: record.claimToken, reports: false };
    }
    case 'terminate_requested':
      return { kind: 'record_deleting' };
    case 'reported':
      if (observed.outcome === 'active' || !isOfPresentAttempt(record, observed)) return lateReport(record, observed);
      return { kind: 'claim_next_host' };
    case 'running':
      return adoptOrElsewhere(record, observed);
    case 'missing':
    case 'audited':
      return wait(record);
    default:
      return { kind: 'claim_next_host' };
  }
}

function inError(record: Ending, holds: Holds, observed: Observation): Step {
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
function deleting(record: Ending, observed: Observation, nowMs: number): Step {
  switch (observed.kind) {
    case 'reported':
      if (observed.outcome === 'active') return destroyTerminated(observed);
      if (observed.outcome !== 'destroyed' || observed.host !== record.host) return none('late report');
      return destroyKept(observed) ?? { kind: 'close_record', isConfirmed: true };
    case 'running':
      return destroyTerminated({ host: observed.host, attempt: 0, claimToken: observed.instance.claimToken });
    case 'host_gone':
    case 'host_down':
      return { kind: 'close_record', isConfirmed: false };
    case 'claimed':
      return { kind: 'release', claimToken: observed.target.claimToken };
    case 'audited':
      return observed.hostIs === 'down' ? { kind: 'close_record', isConfirmed: false } : wait(record);
    case 'missing':
      // The order may be lost with a conductor, or the host's answer: ordered again, the host answers that it is destroyed.
      return observed.host === record.host && !observed.hasOrdersWaiting ? destroyOrClose(record, nowMs) : wait(record);
    case 'no_host':
      return wait(record);
    default:
      return destroyOrClose(record, nowMs);
  }
}

function destroyOrClose(record: Ending, nowMs: number): Step {
  if (record.host === undefined) return { kind: 'close_record', isConfirmed: true };
  if (isOverdue(record, nowMs)) return { kind: 'close_record', isConfirmed: false };
  return { kind: 'destroy', host: record.host, attempt: 0, claimToken: record.claimToken ?? 0, reports: true };
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

function reportOfBuild(record: Building, report: Reported): Step {
  switch (report.outcome) {
    case 'active':
      return builtNow(record, report.at);
    case 'failed':
    case 'refused':
      return { kind: 'conclude_attempt', outcome: report.outcome, why: report.why };
    case 'lost':
      return { kind: 'conclude_attempt', outcome: 'failed', why: report.why };
    case 'destroyed':
      return none('late report');
  }
}

/** It comes up as it was. An agent of an older version runs what it builds, so the host is told to stop it in any case. */
function builtNow(record: Building, at: HostPosition, finding?: Finding): Step {
  const kind = powerStateToBuild(record) === 'shutdown' ? 'record_built_to_stop' : 'record_active';
  return { kind, at, ...(finding && { finding }) };
}

function isAboutBuilt({ kind }: Observation): boolean {
  return ABOUT_BUILT.includes(kind);
}

const ABOUT_BUILT: readonly Observation['kind'][] = [
  'power_requested',
  'power_reported',
  'evacuate_requested',
  'shelve_requested',
];

/** An operator's word destroys what runs where the record does not have it; what it has there is for a terminate. */
function disowned(record: Instance, observed: Disowned): Step {
  const onItsWay: readonly InstanceState[] = ['building', 'rebuilding', 'shelving'];
  const mayBe = onItsWay.includes(record.state) || BUILT_STATES.includes(record.state);
  const { source, destination } = record.migration ?? {};
  const isOnMove = observed.host === source?.host || observed.host === destination?.host;
  const isThere = (record.host === observed.host && mayBe) || (isOnMove && record.state !== 'deleting');
  return isThere ? none('its record has it there') : destroyDisowned(observed);
}

function destroyDisowned({ host, attempt, claimToken }: Disowned): Step {
  return { kind: 'destroy', host, attempt, claimToken, reports: false, finding: 'destroyed' };
}

type Disowned = Extract<Observation, { kind: 'disowned' }>;

/** It was terminated, so it is to run nowhere. */
function destroyTerminated({ host, attempt, claimToken }: Build): Step {
  return { kind: 'destroy', host, attempt, claimToken, reports: false, finding: 'destroyed' };
}

function concludeTimedOut({ dueAtMs, attempts }: Building): Step {
  const limitMs = (dueAtMs ?? 0) - (attempts.at(-1)?.startedAtMs ?? 0);
  return { kind: 'conclude_attempt', outcome: 'timed_out', why: `no answer within ${limitMs} ms` };
}
