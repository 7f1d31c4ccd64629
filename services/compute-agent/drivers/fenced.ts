import { BerthError } from '#libs/domain/errors';

/**
 * True for errors that mean another run holds the host, or may: the work under way has not failed, it belongs to that
 * run.
 */
export function isFenced(thrown: unknown): boolean {
  const { reason } = BerthError.from(thrown);
  return reason === 'epoch_superseded' || reason === 'epoch_unknown';
}

/**
 * Throws `notSurelyHeld` once another run may hold the host. A driver calls it last before an instance starts: an agent that
 * stood still meanwhile would start what has been evacuated.
 */
export type Fence = () => void;

/** The error of work on a host that another run may hold. */
export function notSurelyHeld(host: string, epoch: number): BerthError {
  const message = `host ${host} is not surely held under epoch ${epoch} any more`;
  return new BerthError('failed_precondition', 'epoch_unknown', message);
}
