import type { InstanceView } from '#libs/contracts/instance';
import type { Clock } from '#libs/domain/clock';
import type { Admission } from '#libs/domain/queueing/admission';
import { showSeconds } from './format';

/** An instance's wait, in a line: `place 3, room expected in 40s, gives up in 9m`; '' when it does not wait. */
export function waitingSummary(clock: Pick<Clock, 'now'>, { waiting }: InstanceView): string {
  if (waiting === undefined) return '';
  const { place, untilMs, expectedAtMs, preemptingOn, preemptingOnFurther, victims, reclaims } = waiting;
  const parts = [place > 0 ? `place ${place}` : 'waits'];
  const hosts = [preemptingOn, ...preemptingOnFurther].join(', ');
  if (victims.length > 0) parts.push(`${reclaims ? 'takes back' : 'takes'} the place of ${victims.length} on ${hosts}`);
  else if (expectedAtMs > 0) parts.push(`room expected in ${timeTo(clock, expectedAtMs)}`);
  // Preemption victims get time to end, beyond the request's own time limit.
  const isMakingRoom = victims.length > 0;
  parts.push(isMakingRoom ? `${timeTo(clock, untilMs)} for them to go` : `gives up in ${timeTo(clock, untilMs)}`);
  return parts.join(', ');
}

/** A request's admission: `50, may preempt, waits 10m, ends after 60m`. */
export function admissionSummary(admission: Admission): string {
  const { priority, mayPreempt, isProtected, isRequeued, waitForCapacityMs, timeLimitMs } = admission;
  const { alternatesHeld, confirmsHost } = admission;
  const parts = [String(priority)];
  if (mayPreempt) parts.push('may preempt');
  if (isProtected) parts.push('protected');
  if (isRequeued) parts.push('requeued when preempted');
  if (waitForCapacityMs > 0) parts.push(`waits ${showSeconds(waitForCapacityMs / 1_000)}`);
  if (timeLimitMs > 0) parts.push(`ends after ${showSeconds(timeLimitMs / 1_000)}`);
  if (alternatesHeld) parts.push(`alternates ${alternatesHeld}`);
  if (confirmsHost) parts.push('its host confirms');
  return parts.join(', ');
}

function timeTo(clock: Pick<Clock, 'now'>, atMs: number): string {
  return showSeconds((atMs - clock.now()) / 1_000);
}
