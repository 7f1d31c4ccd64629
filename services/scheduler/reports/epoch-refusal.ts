import { BerthError } from '#libs/domain/errors';

/** Why a write for a host is refused: it has another holder, or the store knows of none. */
export function epochRefusal(host: string, epoch: number, present = 0): BerthError {
  if (present > epoch) {
    const message = `a newer agent now manages ${host}: its epoch is ${present}, not ${epoch}`;
    return new BerthError('failed_precondition', 'epoch_superseded', message);
  }
  const message = `the store does not know epoch ${epoch} of host ${host}`;
  return new BerthError('failed_precondition', 'epoch_unknown', message);
}
