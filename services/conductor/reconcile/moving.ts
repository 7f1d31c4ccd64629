import { attemptNumber, type Moving } from '#libs/domain/instance';
import { INSTANCE_LOST } from '#libs/domain/queueing/gang';
import { type Build, isLaterWhereItBelongs, isOfPresentBuild, isOfPresentPlace, isWhereItBelongs } from '../evidence';
import type { Fault, Holds, Observation, RunningAt } from '../observation';
import type { Step } from '../step';
import { audited, missing } from './built';
import { isAtSource, isKeptStopped, isReturnOrdered } from './moves';
import { isNews } from './power';
import {
  adopt,
  adoptOrElsewhere,
  claimedWhereItRuns,
  isOverdue,
  judgeMissed,
  lateReport,
  none,
  orderSince,
  type Reported,
  recordError,
  recordRestoring,
  wait,
} from './shared-steps';

/*
 * The states in which an instance is moved. (README.md, "Moves".)
 */

/** RESIZE and MIGRATING: on its way to its destination. What fails on the way takes it back. */
export function moving(record: Moving, observed: Observation, nowMs: number): Step {
  if (observed.kind === 'terminate_requested') return { kind: 'record_deleting' };
  if (observed.kind === 'running' && isAtSource(record, observed)) return none('its move holds it');
  // A host's word comes before a deadline that has passed: a store may have forgotten that it has left, or arrived.
  if (observed.kind === 'running' && record.migration.phase !== 'arriving') return seenOnItsWay(record, observed);
  switch (record.migration.phase) {
    case 'selecting':
      return selecting(record, observed, nowMs);
    case 'claimed':
      return waitingForTurn(record, observed, nowMs);
    case 'handing_over':
      return handingOver(record, observed, nowMs);
    default:
      return arriving(record, observed, nowMs);
  }
}

/** A later attempt at its source proves that it came back from this move, and that the store has forgotten that. */
function seenOnItsWay(record: Moving, observed: RunningAt): Step {
  if (!isLaterWhereItBelongs(record, observed)) return adoptOrElsewhere(record, observed);
  return isKeptStopped(record) || !isYetToRun(observed) ? adopt(observed) : wait(record);
}

/** Nothing is changed but the record, and perhaps the claims. */
function selecting(record: Moving, observed: Observation, nowMs: number): Step {
  switch (observed.kind) {
    case 'accepted':
    case 'interrupted':
      return { kind: 'select_destinations' };
    case 'claimed':
      // A scheduler has not heard yet that an earlier move, by the same uuid, was undone.
      if (observed.target.claimToken <= (record.claimToken ?? 0)) return wait(record);
      return { kind: 'record_handing_over', target: observed.target };
    case 'no_host':
      return { kind: 'record_not_moved', fault: observed.fault };
    default:
      return isOverdue(record, nowMs) ? { kind: 'select_destinations' } : elsewhere(record, observed);
  }
}

/** Both sides are claimed, and nobody was told: it runs at its source until an operator asks for its move again. */
function waitingForTurn(record: Moving, observed: Observation, nowMs: number): Step {
  if (observed.kind === 'reported') {
    if (!isOfPresentBuild(record, { ...observed, claimToken: 0 })) return lateReport(record, observed);
    return observed.outcome === 'lost' ? goBack('instance_lost', observed.why) : none('late report');
  }
  if (!isOverdue(record, nowMs)) return elsewhere(record, observed);
  return goBack('not_begun', 'nobody began its move in time');
}

/** Both sides are claimed. The source is told to stop it, and to say what its destination needs. */
function handingOver(record: Moving, observed: Observation, nowMs: number): Step {
  switch (observed.kind) {
    case 'interrupted':
      return { kind: 'hand_over' };
    case 'power_reported':
      return handedOver(record, observed);
    case 'reported':
      if (!isOfPresentBuild(record, { ...observed, claimToken: 0 })) return lateReport(record, observed);
      return observed.outcome === 'lost' ? goBack('instance_lost', observed.why) : none('late report');
    case 'audited':
      return isHostDown(observed) ? goBack('host_down', `${record.migration.source.host} is down`) : wait(record);
    default:
      if (!isOverdue(record, nowMs)) return elsewhere(record, observed);
      return goBack('not_handed_over', `${record.migration.source.host} did not hand it over in time`);
  }
}

/** Its destination builds it from what was handed over. */
function arriving(record: Moving, observed: Observation, nowMs: number): Step {
  switch (observed.kind) {
    case 'interrupted':
      return { kind: 'order_arrival' };
    case 'reported':
      if (!isOfPresentBuild(record, observed)) return lateReport(record, observed);
      return observed.isOutdated ? orderSince(record, observed) : arrival(observed);
    case 'order_refused':
      return goBack('order_refused', observed.reason);
    case 'host_down':
      return goBack('host_down', `${record.host} is down`);
    case 'audited':
      return isHostDown(observed) ? goBack('host_down', `${record.host} is down`) : wait(record);
    case 'running':
      if (!isOfPresentBuild(record, { host: observed.host, ...observed.instance })) return elsewhere(record, observed);
      if (!isInPlace(record) || !isYetToRun(observed)) return { kind: 'record_arrived', at: observed.at };
      return isOverdue(record, nowMs) ? notArrived(record) : wait(record);
    case 'missing':
      if (observed.host !== record.host || observed.hasOrdersWaiting) return wait(record);
      return { kind: 'order_arrival', finding: 'ordered_again' };
    default:
      if (!isOverdue(record, nowMs)) return elsewhere(record, observed);
      return notArrived(record);
  }
}

/** Its destination may have it all the same: it goes back only to a source that is there. */
function notArrived({ host }: Moving): Step {
  const fault = { reason: 'not_arrived', message: `${host} did not build it in time` };
  return { kind: 'record_reverting', fault, isDoubtful: true };
}

function isHostDown({ hostIs }: Extract<Observation, { kind: 'audited' }>): boolean {
  return hostIs === 'down';
}

function isInPlace({ migration: { source, destination } }: Moving): boolean {
  return source.host === destination.host;
}

/**
 * A move in place has the new attempt before the instance runs, or has its new size. The host says in answer to the order
 * whether it could be started, or resized.
 */
function isYetToRun({ instance }: RunningAt): boolean {
  return instance.powerState === 'shutdown';
}

function arrival({ outcome, at, why }: Reported): Step {
  return outcome === 'active' ? { kind: 'record_arrived', at } : goBack('not_arrived', why);
}

function handedOver(record: Moving, report: Extract<Observation, { kind: 'power_reported' }>): Step {
  if (report.migrationUuid !== record.migration.uuid || !isOfPresentPlace(record, report)) return none('late report');
  // All migrations of an instance have one uuid: an earlier one was answered before its host said that it runs there again.
  if (!isNews(record, report)) return none('late report');
  // An instance stopped before its move stays so, handed over or not.
  if (report.fault) return { kind: 'record_reverting', fault: report.fault };
  if (report.powerState === 'shutdown') return { kind: 'dispatch_arrival', handover: report.handover };
  return { kind: 'record_position', at: report.at };
}

/** VERIFY_RESIZE: it is at its destination, running if it was so before, and its source keeps it. Lost there, it goes back. */
export function arrived(record: Moving, holds: Holds, observed: Observation, nowMs: number): Step {
  switch (observed.kind) {
    case 'terminate_requested':
      return { kind: 'record_deleting' };
    case 'reported':
      if (!isOfPresentBuild(record, { ...observed, claimToken: 0 })) return lateReport(record, observed);
      return observed.outcome === 'lost' ? goBack('instance_lost', observed.why) : none('at rest');
    case 'missing':
      if (observed.host === record.host) return lostIsBack(missing(record, observed));
      return observed.host === record.migration.source.host ? missingAtSource(record, observed) : none('at rest');
    case 'running':
      // The source's copy must not run.
      if (isAtSource(record, observed) && observed.instance.powerState === 'shutdown') return none('its move holds it');
      // Resized in place, and decided since: the store has forgotten that.
      if (isInPlace(record) && isLaterWhereItBelongs(record, observed)) return adopt(observed);
      if (!isWhereItBelongs(record, observed)) return adoptOrElsewhere(record, observed);
      // An agent of an older version runs what it builds.
      if (isKeptStopped(record) && !isYetToRun(observed))
        return { kind: 'set_power_state', powerState: 'shutdown', isFirst: false };
      return claimedWhereItRuns(record, observed);
    case 'audited': {
      const step = audited(record, holds);
      return step.kind === 'none' ? { kind: 'hold_source' } : step;
    }
    case 'nothing':
      return isOverdue(record, nowMs) ? { kind: 'confirm_when_up' } : wait(record);
    case 'host_down':
      return goBack('host_down', `${record.host} is down: it goes back instead of being confirmed`);
    default:
      return none('at rest');
  }
}

/**
 * REVERT_RESIZE: what its destination has goes first, so that it never runs twice; then its claims are given back in one commit;
 * then its source runs it again, by a new attempt, which what was ordered before is older than.
 */
export function reverting(record: Moving, observed: Observation, nowMs: number): Step {
  if (observed.kind === 'terminate_requested') return { kind: 'record_deleting' };
  if (observed.kind === 'running' && isAtSource(record, observed)) return none('its move holds it');
  if (record.migration.awaitsSource) return askingSource(record, observed, nowMs);
  return record.migration.phase === 'leaving' ? leaving(record, observed, nowMs) : returning(record, observed, nowMs);
}

/** Its destination keeps it until its source has answered: the source may have died without anybody knowing yet. */
function askingSource(record: Moving, observed: Observation, nowMs: number): Step {
  const { source, destination } = record.migration;
  const leave = { kind: 'record_reverting', fault: record.fault } as const;
  switch (observed.kind) {
    case 'power_reported':
      return observed.host === source.host && observed.migrationUuid === '' ? leave : none('late report');
    case 'reported':
      if (observed.host !== destination.host || observed.attempt !== destination.attempt)
        return lateReport(record, observed);
      return observed.outcome === 'active' ? none('late report') : leave;
    case 'running':
      return isWhereItBelongs(record, observed) ? none('its move holds it') : adoptOrElsewhere(record, observed);
    case 'interrupted':
    case 'audited':
      return { kind: 'ask_source', isOverdue: isOverdue(record, nowMs) };
    default:
      return isOverdue(record, nowMs) ? { kind: 'ask_source', isOverdue: true } : elsewhere(record, observed);
  }
}

function leaving(record: Moving, observed: Observation, nowMs: number): Step {
  const { destination } = record.migration;
  const { host, attempt } = destination;
  const destroy = { kind: 'destroy', host, attempt, claimToken: record.claimToken ?? 0, reports: true } as const;
  switch (observed.kind) {
    case 'interrupted':
      return destroy;
    case 'reported':
      if (observed.host !== host || observed.attempt !== attempt) return lateReport(record, observed);
      return observed.outcome === 'active' ? destroy : { kind: 'record_returning' };
    case 'running':
      return observed.host === host && observed.instance.attempt === attempt ? destroy : elsewhere(record, observed);
    case 'host_gone':
    case 'host_fenced':
      return { kind: 'record_returning' };
    case 'host_down':
      // The order waits in its queue, before all that it is told when it is back.
      return { kind: 'fence_host', host };
    case 'audited':
      return isHostDown(observed) ? { kind: 'fence_host', host } : wait(record);
    default:
      return isOverdue(record, nowMs) ? { ...destroy, isAgain: true } : wait(record);
  }
}

function returning(record: Moving, observed: Observation, nowMs: number): Step {
  if (!isReturnOrdered(record)) {
    if (observed.kind === 'running') return adoptOrElsewhere(record, observed);
    const isDue = observed.kind === 'interrupted' || isOverdue(record, nowMs);
    return isDue ? { kind: 'give_back' } : elsewhere(record, observed);
  }
  switch (observed.kind) {
    case 'interrupted':
      return { kind: 'order_arrival' };
    case 'order_refused':
      return isOverdue(record, nowMs) ? sourceIsDown(record) : wait(record);
    case 'host_down':
      return sourceIsDown(record);
    case 'audited':
      return isHostDown(observed) ? sourceIsDown(record) : wait(record);
    case 'reported':
      if (isLaterThere(record, observed) && isKept(observed)) return returned(record, observed);
      if (!isOfPresentBuild(record, observed)) return lateReport(record, observed);
      return observed.isOutdated ? orderSince(record, observed) : returned(record, observed);
    case 'running': {
      const { at, host, instance } = observed;
      const build = { host, ...instance };
      if (!isLaterThere(record, build) && !isOfPresentBuild(record, build)) return elsewhere(record, observed);
      if (!isYetToRun(observed))
        return { kind: 'record_returned', at, attempt: instance.attempt, isStopped: isKeptStopped(record) };
      return isOverdue(record, nowMs) ? ORDER_AGAIN : wait(record);
    }
    default:
      return isOverdue(record, nowMs) ? ORDER_AGAIN : elsewhere(record, observed);
  }
}

/** It rests there as what it was: its source finds the order when it is back, or it is evacuated. */
function sourceIsDown({ migration: { source } }: Moving): Step {
  const why = `${source.host}, where it went back to, is down: it runs there once that is back; or evacuate it`;
  return { kind: 'record_return_awaited', why };
}

const ORDER_AGAIN: Step = { kind: 'order_arrival', isAgain: true };

/**
 * It goes on there by an attempt, or by a claim, that the store has forgotten: its agent answers by that, and takes no order that is
 * older. Of an earlier instance of the same uuid the claim is an earlier one.
 */
function isLaterThere(record: Moving, { host, attempt, claimToken }: Build): boolean {
  if (host !== record.migration.source.host) return false;
  const present = attemptNumber(record);
  return attempt > present || (attempt === present && claimToken > (record.claimToken ?? 0));
}

function isKept({ outcome }: Reported): boolean {
  return outcome === 'active' || outcome === 'failed';
}

/** Its source has it, running or not; or has lost it. */
function returned(record: Moving, { outcome, at, why, attempt }: Reported): Step {
  const { migration } = record;
  switch (outcome) {
    case 'active':
      return { kind: 'record_returned', at, attempt, isStopped: isKeptStopped(record) };
    case 'failed':
      return { kind: 'record_returned', at, attempt, isStopped: true, why };
    // A refusal takes nothing from its host: what is kept there stays, and what was resized there runs on by its destination's size.
    // Two reports that lack it end it.
    case 'refused':
      return { kind: 'record_returned', at, attempt, isStopped: !isInPlace(record) || isKeptStopped(record), why };
    default: {
      const message = `${migration.source.host}, from which it was to be moved, does not have it any more: ${why}`;
      const fault = { reason: INSTANCE_LOST, message };
      return record.gang?.onLoss === 'restore' ? recordRestoring(fault) : recordError(fault, undefined, []);
    }
  }
}

/** Observations that say nothing about the move's progress. */
function elsewhere(record: Moving, observed: Observation): Step {
  switch (observed.kind) {
    case 'reported':
      return lateReport(record, observed);
    case 'running':
      return adoptOrElsewhere(record, observed);
    case 'claimed':
    case 'no_host':
      return none('somebody else goes on with it');
    default:
      return wait(record);
  }
}

/** Nothing is kept that it could go back to: two reports in a row of its source lack it. It stays where it runs. */
function missingAtSource(
  { migration: { missingIn: last } }: Moving,
  { at: { epoch }, sequence }: Extract<Observation, { kind: 'missing' }>,
): Step {
  const missingIn = { epoch, sequence };
  switch (judgeMissed(last, missingIn)) {
    case 'gone':
      return { kind: 'record_confirming' };
    case 'doubt':
      return { kind: 'record_source_missing', missingIn };
    case 'older':
      return none('older observation');
  }
}

function lostIsBack(step: Step): Step {
  const isLost = step.kind === 'record_error' || step.kind === 'record_restoring';
  return isLost ? { kind: 'record_reverting', fault: step.fault } : step;
}

function goBack(reason: string, message: string): Step {
  const fault: Fault = { reason, message };
  return { kind: 'record_reverting', fault };
}
