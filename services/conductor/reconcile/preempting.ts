import { BUILT_STATES, type Displaced, type Instance, isAttemptOpen } from '#libs/domain/instance';
import { isOfPresentAttempt } from '../evidence';
import type { Observation, PreemptedBy } from '../observation';
import type { Step } from '../step';
import { adopt, destroyAndReport, destroyKept, isOverdue, lateReport, none, runsElsewhere, wait } from './shared-steps';

/**
 * Another instance, whose record says so, is to have its place: it is terminated, or, when it is to be requeued, PENDING again
 * once its host has destroyed it. Never for one of the same priority, unless that takes back what its project has lent; and
 * never while its host is silent.
 */
export function preempted(
  record: Instance,
  { instanceUuid, projectId, priority, reclaims = false }: PreemptedBy,
): Step {
  const { state, admission } = record;
  const isThere = (BUILT_STATES.includes(state) && state !== 'unknown') || isAttemptOpen(record);
  // Otherwise the gang's state, or its split over hosts, would be uncertain.
  const isUnsettled = (record.gang !== undefined && isAttemptOpen(record)) || record.formerState !== undefined;
  if (!isThere || isUnsettled || record.migration !== undefined) return none('not on its host');
  if (admission?.isProtected || (!reclaims && (admission?.priority ?? 0) >= priority))
    return none('not to be preempted');
  // The fault is told to the project of the one that goes: another's uuid has no place in it.
  const by = projectId === record.projectId ? instanceUuid : 'an instance of another project';
  const fault = reclaims
    ? { reason: 'reclaimed', message: `its project had borrowed what it held; taken back for ${by}` }
    : { reason: 'preempted', message: `preempted by ${by}, of priority ${priority}` };
  return admission?.isRequeued ? { kind: 'record_preempting', fault } : { kind: 'record_deleting', fault };
}

/** Its host is to destroy it and to say so: its claim is released only then, and it is PENDING again. */
export function preempting(record: Displaced, observed: Observation, nowMs: number): Step {
  switch (observed.kind) {
    case 'reported': {
      const isGone = observed.outcome === 'destroyed' || observed.outcome === 'lost';
      if (!isGone || !isOfPresentAttempt(record, observed)) return lateReport(record, observed);
      return destroyKept(observed) ?? { kind: 'record_requeued' };
    }
    case 'host_gone':
      return { kind: 'record_requeued' };
    case 'running':
      if (observed.voucher) return adopt(observed);
      return observed.host === record.host ? none('its order still waits') : runsElsewhere(record, observed);
    case 'claimed':
      return { kind: 'release', claimToken: observed.target.claimToken };
    case 'terminate_requested':
      return { kind: 'record_deleting' };
    case 'interrupted':
      return destroyAndReport(record);
    case 'host_down':
      return { kind: 'fence_host', host: record.host };
    case 'host_fenced':
      return { kind: 'record_requeued' };
    case 'audited':
      return observed.hostIs === 'down' ? { kind: 'fence_host', host: record.host } : wait(record);
    case 'missing':
      return wait(record);
    default:
      return isOverdue(record, nowMs) ? destroyAndReport(record) : wait(record);
  }
}
