import type { StandingView } from '#libs/contracts/admission';
import type { FairShareView } from '#libs/contracts/quotas';
import { showSeconds } from '../../views/format';

/** A part of the fleet: `0.250`. */
export function shareText(share: number): string {
  return share.toFixed(3);
}

/** A part of the fleet with the class that it is of: `0.250 VCPU`. */
export function shareOf(share: number, resourceClass: string): string {
  return resourceClass === '' ? shareText(share) : `${shareText(share)} ${resourceClass}`;
}

/** A project's number among those who wait, with its parts. */
export function fairShareLine({ projectId, weight, rank, ...of }: FairShareView): string {
  const sum = `(now ${shareOf(of.now, of.nowClass)} + lately ${shareOf(of.lately, of.latelyClass)}) / weight ${weight}`;
  return `fair share of project ${projectId}: ${shareText((of.now + of.lately) / weight)} = ${sum}, rank ${rank}`;
}

/** A waiting request's number, with its parts. */
export function standingLine({ number, now, lately, weight, ahead, patience, halfLifeMs }: StandingView): string {
  const used = `now ${shareText(now)} + lately ${shareText(lately)}`;
  const borne = patience < 1 ? `${patience.toFixed(2)} x (${used})` : used;
  const sum = `(${borne} + ahead ${shareText(ahead)}) / weight ${weight}`;
  return `${shareText(number)} = ${sum}, half-life ${showSeconds(halfLifeMs / 1_000)}`;
}
