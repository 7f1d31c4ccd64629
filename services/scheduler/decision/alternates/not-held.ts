import type { Log } from '#libs/runtime/log';
import type { SchedulerMetrics } from '../../metrics';

/** Holdings that can fail: leased alternates, reserved alternates, a nomination for preempted capacity. */
export type Unheld = 'alternates' | 'reservation' | 'nomination';

/** Takes what could not be held for an instance and why: the `kind` of the store's refusal, or the reason of an error. */
export type NoteNotHeld = (what: Unheld, instanceUuid: string, reason: string) => void;

/**
 * Logs and counts what could not be held. The decision stands all the same: alternates are alternates without a lease, and who
 * preempts looks for other room if somebody comes first.
 */
export function notHeldNoter(log: Log, counter: SchedulerMetrics['notHeld']): NoteNotHeld {
  return (what, instanceUuid, reason) => {
    const [event, message] = what === 'nomination' ? NOT_NOMINATED : NOT_HELD;
    log.warn({ event, instance_uuid: instanceUuid, kind: what, reason }, message);
    counter.inc({ kind: what, reason });
  };
}

const NOT_NOMINATED = ['not_nominated', 'preempted capacity not nominated: new requests may take it'] as const;
const NOT_HELD = ['alternates_not_held', 'alternates are not leased or reserved, or not all'] as const;
