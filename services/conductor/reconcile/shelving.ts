import type { Built, Displaced, Unplaced } from '#libs/domain/instance';
import { isOfPresentAttempt } from '../evidence';
import type { Holds, Observation } from '../observation';
import type { Step } from '../step';
import {
  adoptOrElsewhere,
  atRest,
  destroyAndReport,
  destroyKept,
  isOverdue,
  lateReport,
  none,
  releaseOrphan,
  runsElsewhere,
  wait,
} from './shared-steps';

/*
 * Shelving (Nova's `shelve` and `shelve_offload` in one): the host gives the instance up, and its record stays. Unshelved, it is
 * built as it was asked for, on a host that is selected anew.
 */

/** A client wants its host to give it up. Not while it is moved, nor while its host is silent. */
export function shelveRequested({ state, migration }: Built): Step {
  const isFree = (state === 'active' || state === 'stopped') && migration === undefined;
  return isFree ? { kind: 'record_shelving' } : none('at rest');
}

/**
 * Its host was told, and is told again until it says that nothing is left. Until then it holds its claim. A host that is dead is fenced,
 * and finds the order when it is back.
 */
export function shelving(record: Displaced, observed: Observation, nowMs: number): Step {
  switch (observed.kind) {
    case 'interrupted':
      return destroyAndReport(record);
    case 'reported': {
      const isGone = observed.outcome === 'destroyed' || observed.outcome === 'lost';
      if (!isGone || !isOfPresentAttempt(record, observed)) return lateReport(record, observed);
      return destroyKept(observed) ?? { kind: 'record_shelved' };
    }
    case 'host_gone':
      return { kind: 'record_shelved' };
    case 'host_down':
      return { kind: 'fence_host', host: record.host };
    case 'host_fenced':
      return { kind: 'record_shelved' };
    case 'audited':
      return observed.hostIs === 'down' ? { kind: 'fence_host', host: record.host } : wait(record);
    case 'terminate_requested':
      return { kind: 'record_deleting' };
    case 'running':
      return observed.host === record.host ? wait(record) : runsElsewhere(record, observed);
    default:
      return isOverdue(record, nowMs) ? { ...destroyAndReport(record), isAgain: true } : wait(record);
  }
}

/** SHELVED_OFFLOADED: on no host, and holds nothing. */
export function shelved(record: Unplaced, holds: Holds, observed: Observation, nowMs: number): Step {
  switch (observed.kind) {
    case 'unshelve_requested':
      return { kind: 'record_unshelving' };
    case 'terminate_requested':
      return { kind: 'record_deleting' };
    case 'reported':
      return lateReport(record, observed);
    case 'running':
      return adoptOrElsewhere(record, observed);
    case 'claimed':
      return { kind: 'release', claimToken: observed.target.claimToken };
    case 'interrupted':
    case 'audited':
      return releaseOrphan(holds);
    default:
      return atRest(record, observed, nowMs);
  }
}

/** A scheduler is asked for a host. */
export function unshelving(record: Unplaced, observed: Observation, nowMs: number): Step {
  switch (observed.kind) {
    case 'accepted':
    case 'interrupted':
      return { kind: 'select_destinations' };
    case 'claimed':
      // It was to be released when it was shelved: whoever did that died, or the scheduler has not heard of it yet.
      if (observed.target.claimToken <= (record.claimToken ?? 0))
        return { kind: 'release', claimToken: observed.target.claimToken };
      return { kind: 'dispatch_build', target: observed.target };
    case 'no_host':
      return { kind: 'record_shelved', fault: observed.fault };
    case 'terminate_requested':
      return { kind: 'record_deleting' };
    case 'reported':
      return lateReport(record, observed);
    case 'running':
      return adoptOrElsewhere(record, observed);
    case 'missing':
    case 'audited':
      return wait(record);
    default:
      return isOverdue(record, nowMs) ? { kind: 'select_destinations' } : wait(record);
  }
}
