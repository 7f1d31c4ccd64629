import type { Clock } from '#libs/domain/clock';
import type { HostLease } from '../../holding/host-lease';

/**
 * The time for which a host remembers what ended, in ms from now: until the deadline of its build, in store time, after which
 * each copy of the order is refused.
 */
export type KeptMs = (deadlineAtMs?: number) => number;

/** Exceeds any broker's delay of an overtaken message. */
export const MIN_KEPT_MS = 600_000;
/** The longest that conductors let a build take. */
const MAX_KEPT_MS = 86_400_000;

export function keptMsOf(clock: Clock, lease: Pick<HostLease, 'storeNowMs'>): KeptMs {
  return (deadlineAtMs = 0) => {
    const leftMs = deadlineAtMs - (lease.storeNowMs() ?? clock.now());
    return Math.min(MAX_KEPT_MS, Math.max(MIN_KEPT_MS, leftMs));
  };
}
