import { BUILT_STATES, type Displaced, type Instance } from '#libs/domain/instance';
import type { Observation } from '../observation';
import type { Step } from '../step';
import { adopt, isOverdue, lateReport, none, runsElsewhere, wait } from './shared-steps';

/**
 * Its host is dead and fenced, and an operator wants it built again on another, where it comes up as it was. A move that it was on is over
 * with that, whichever of its ends is dead; but what its destination is about to give up goes back first.
 */
export function evacuateRequested({ state, migration }: Instance): Step {
  const isGoing = state === 'deleting' || state === 'undoing' || migration?.phase === 'leaving';
  if (isGoing) return none('at rest');
  return BUILT_STATES.includes(state) || migration !== undefined ? { kind: 'record_rebuilding' } : none('at rest');
}

/**
 * Its host was fenced, and a scheduler is asked for another, whose claim takes the place of the old one. Until there is one the
 * attempt on the old host is not given up: without any, the instance stays where it was.
 */
export function rebuilding(record: Displaced, observed: Observation, nowMs: number): Step {
  switch (observed.kind) {
    case 'accepted':
    case 'interrupted':
      return { kind: 'select_destinations' };
    case 'claimed': {
      // A late answer to an earlier try: its claim may be another's capacity by now. The record's own is on the dead host, or on the
      // destination of a move that a store forgot: then it is held, and no other claim will be found.
      const { claimToken, host } = observed.target;
      const own = record.claimToken ?? 0;
      if (claimToken < own) return { kind: 'release', claimToken };
      const isOnDeadHost = claimToken === own && host === record.host;
      return isOnDeadHost ? wait(record) : { kind: 'dispatch_build', target: observed.target };
    }
    case 'no_host':
      return { kind: 'record_not_rebuilt', fault: observed.fault };
    case 'terminate_requested':
      return { kind: 'record_deleting' };
    case 'reported':
      return lateReport(record, observed);
    case 'running':
      if (observed.voucher) return adopt(observed);
      return observed.host === record.host ? none('somebody else goes on with it') : runsElsewhere(record, observed);
    case 'missing':
    case 'audited':
      return wait(record);
    default:
      return isOverdue(record, nowMs) ? { kind: 'select_destinations' } : wait(record);
  }
}
