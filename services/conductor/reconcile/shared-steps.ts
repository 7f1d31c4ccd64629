import { isAfter, type MissedReport } from '#libs/domain/host-position';
import { type Attempt, attemptNumber, type Displaced, type Instance } from '#libs/domain/instance';
import { INSTANCE_LOST } from '#libs/domain/queueing/gang';
import { isGivenUp } from '../evidence';
import type { Fault, Holds, Observation, RunningAt } from '../observation';
import type { Doubt, NoneReason, Step } from '../step';

/*
 * Answers of `reconcile` that several states share.
 */
export type Reported = Extract<Observation, { kind: 'reported' }>;

/** A late build of a given-up attempt must go. Anything else stays until its host reports it. */
export function lateReport(record: Instance, { outcome, host, attempt, claimToken }: Reported): Step {
  if (outcome !== 'active' || !isGivenUp(record, host, attempt)) return none('late report');
  return { kind: 'destroy', host, attempt, claimToken, reports: false };
}

/** It runs where its record does not have it. */
export function runsElsewhere(record: Instance, { host, instance: { attempt, claimToken } }: RunningAt): Step {
  if (!isGivenUp(record, host, attempt)) return doubt('stray');
  return { kind: 'destroy', host, attempt, claimToken, reports: false, finding: 'destroyed' };
}

/** It runs where its record does not have it, unless a sealed request vouches for it: the store may have gone back. */
export function adoptOrElsewhere(record: Instance, observed: RunningAt): Step {
  return observed.voucher ? adopt(observed) : runsElsewhere(record, observed);
}

/**
 * It runs where it belongs: what it holds there is claimed again when the store does not have it, or has an earlier claim than the
 * one that its host was ordered by. (A store that went back gives later claims than all that it gave before.)
 */
export function claimedWhereItRuns({ claimToken }: Instance, at: RunningAt): Step {
  if (at.isClaimed && !at.isByForgottenClaim) return none('at rest');
  const replaces = at.isClaimed ? claimToken : undefined;
  return { kind: 'claim_again', replaces, at, finding: 'claimed_again' };
}

export function recordError(fault: Fault, claimToken: number | undefined, passedOver: readonly Attempt[]) {
  return { kind: 'record_error', fault, claimToken, passedOver } as const;
}

/** It was there and is gone: it keeps nothing, and is built again only where its gang says so, as what it was (as Nova's evacuate). */
export function recordLost(record: Instance, why: string) {
  const { host, claimToken, gang } = record;
  const fault = { reason: INSTANCE_LOST, message: `it stopped running on ${host}: ${why}` };
  return gang?.onLoss === 'restore' ? recordRestoring(fault) : recordError(fault, claimToken, []);
}

export function recordRestoring(fault: Fault): Extract<Step, { kind: 'record_restoring' }> {
  return { kind: 'record_restoring', fault };
}

/**
 * Judges one more report without an instance: a doubt, which the very next report settles. After a gap it begins anew.
 *
 * @param last  the report that lacked it before, if the record knows one
 */
export function judgeMissed(
  last: MissedReport | undefined,
  { epoch, sequence }: MissedReport,
): 'gone' | 'doubt' | 'older' {
  if (last?.epoch === epoch && sequence === last.sequence + 1) return 'gone';
  const before = last && { epoch: last.epoch, position: last.sequence };
  return isAfter({ epoch, position: sequence }, before) ? 'doubt' : 'older';
}

export function isOverdue({ dueAtMs }: Instance, nowMs: number): boolean {
  return dueAtMs !== undefined && dueAtMs <= nowMs;
}

export function adopt(at: RunningAt): Step {
  return { kind: 'adopt', at, finding: 'adopted' };
}

export function wait({ dueAtMs }: Instance): Step {
  return { kind: 'wait', untilMs: dueAtMs };
}

export function doubt(finding: Doubt): Step {
  return { kind: 'doubt', finding };
}

export function none(because: NoneReason): Step {
  return { kind: 'none', because };
}

/** Releases the claim of an instance that has ended, or is on no host. */
export function releaseHeld(holds: Holds): Step {
  switch (holds.kind) {
    case 'unread':
      return { kind: 'read_claim' };
    case 'none':
      return none('at rest');
    case 'claim':
      return { kind: 'release', claimToken: holds.claimToken };
  }
}

export function releaseOrphan(holds: Holds): Step {
  const step = releaseHeld(holds);
  return step.kind === 'release' ? { ...step, finding: 'orphan' } : step;
}

/**
 * Destroys an instance that is still there by a later claim or attempt, which the store forgot or a late order did not name.
 * Undefined when nothing is said to be there.
 */
export function destroyKept({ outcome, host, keptClaimToken }: Reported): Step | undefined {
  if (outcome !== 'destroyed' || keptClaimToken === 0) return undefined;
  return { kind: 'destroy', host, attempt: 0, claimToken: keptClaimToken, reports: true };
}

/**
 * Its agent was restarted, or its host evacuated, while the order waited: it is ordered again, once for each epoch of the host. A host
 * that refuses that order, too, says what can't be, or is heard twice: deadlines and reports go on with it.
 */
export function orderSince({ attempts }: Instance, { at: { epoch } }: Reported): Step {
  const { orderedEpoch } = attempts.at(-1) ?? {};
  if (orderedEpoch !== undefined && epoch <= orderedEpoch) return none('late report');
  return { kind: 'order_since', epoch };
}

/** Its host is to end what it has of it, and to say so. */
export function destroyAndReport(record: Displaced): Extract<Step, { kind: 'destroy' }> {
  const { host, claimToken = 0 } = record;
  return { kind: 'destroy', host, attempt: attemptNumber(record), claimToken, reports: true };
}

/** Nothing is to be done, unless its request said how long it is to live. */
export function atRest({ endsAtMs, admission }: Instance, observed: Observation, nowMs: number): Step {
  const isOver = observed.kind === 'nothing' && endsAtMs !== undefined && endsAtMs <= nowMs;
  if (!isOver) return none('at rest');
  const { timeLimitMs = 0 } = admission ?? {};
  // An adopted record knows the end, not the limit.
  const limit = timeLimitMs > 0 ? `its time limit of ${Math.round(timeLimitMs / 1_000)} s` : 'its time limit';
  const message = `${limit} is over`;
  return { kind: 'record_deleting', fault: { reason: 'time_limit', message } };
}
