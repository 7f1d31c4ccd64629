import { type Instance, type Pending, presentBuild } from '#libs/domain/instance';
import type { Waiting } from '#libs/domain/queueing/admission';
import type { NoHost, Observation } from '../observation';
import type { Step } from '../step';
import { adoptOrElsewhere, isOverdue, lateReport, recordError, wait } from './shared-steps';

/**
 * It waits for capacity and holds nothing. Whoever keeps the queue says when it is its turn; a scheduler is asked then, and
 * what it answers is news only when something else is lacking than before.
 */
export function pending(record: Pending, holds: { readonly kind: string }, observed: Observation, nowMs: number): Step {
  switch (observed.kind) {
    case 'capacity_changed':
      return { kind: 'select_destinations' };
    case 'claimed': {
      // The claim that it had before it was lost is left by whoever was to release it.
      const { claimToken } = observed.target;
      if (claimToken <= (record.claimToken ?? 0)) return { kind: 'release', claimToken };
      return { kind: 'dispatch_build', target: observed.target };
    }
    case 'no_host':
      return stillNoHost(record, observed, nowMs);
    case 'terminate_requested':
      return { kind: 'record_deleting' };
    case 'reported':
      return lateReport(record, observed);
    case 'running':
      return adoptOrElsewhere(record, observed);
    case 'audited':
      // A scheduler has claimed for it, and its answer was lost: asked again, it answers with that claim.
      if (holds.kind === 'unread') return { kind: 'read_claim' };
      return holds.kind === 'claim' ? { kind: 'select_destinations' } : wait(record);
    case 'missing':
      return wait(record);
    default:
      return isOverdue(record, nowMs) ? recordError(waitedInVain(record), undefined, []) : wait(record);
  }
}

/** Nothing is there for a request that may wait: what else could help is known, and its time is not over. */
export function mayWait({ admission }: Instance, { waitsFor = [] }: NoHost): boolean {
  return waitsFor.length > 0 && (admission?.waitForCapacityMs ?? 0) > 0;
}

/** An evacuated instance whose new host has died, too, waits until there is another: its old copy is given up. */
export function evacuatedMayWait(record: Instance, { waitsFor = [] }: NoHost): boolean {
  return waitsFor.length > 0 && presentBuild(record).follows === 'evacuated';
}

export function recordPending({ fault, waitsFor = [], preemption }: NoHost): Step {
  return { kind: 'record_pending', fault, waitsFor, preemption };
}

function stillNoHost(record: Pending, observed: NoHost, nowMs: number): Step {
  if (!mayWait(record, observed) && !evacuatedMayWait(record, observed))
    return recordError(observed.fault, undefined, observed.passedOver);
  if (isOverdue(record, nowMs)) return recordError(waitedInVain(record), undefined, []);
  return isAsBefore(record.waiting, observed) ? wait(record) : recordPending(observed);
}

function isAsBefore(waiting: Waiting, { waitsFor = [], preemption }: NoHost): boolean {
  if (waiting.preemption !== undefined || preemption !== undefined) return false;
  return waiting.waitsFor.join(' ') === waitsFor.join(' ');
}

function waitedInVain({ fault, waiting }: Pending) {
  const seconds = Math.round((waiting.untilMs - waiting.sinceMs) / 1_000);
  const lacking = fault === undefined ? '' : `: ${fault.message}`;
  return { reason: fault?.reason ?? 'no_valid_host', message: `waited ${seconds} s for capacity${lacking}` };
}
