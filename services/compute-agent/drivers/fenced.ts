import { BerthError } from '#libs/domain/errors';

/** Whether an error says that the host is another's now, or may be: what was under way is not failed, it is somebody else's. */
export function isFenced(thrown: unknown): boolean {
  const { reason } = BerthError.from(thrown);
  return reason === 'epoch_superseded' || reason === 'epoch_unknown';
}

/** Of what fails while another may hold the host. */
export function notSurelyHeld(host: string, epoch: number): BerthError {
  const message = `host ${host} is not surely held under epoch ${epoch} any more`;
  return new BerthError('failed_precondition', 'epoch_unknown', message);
}
