import { BerthError, type ErrorCode } from '#libs/domain/errors';
import { type ErrorStatus, HttpError, httpErrorOf } from '../http/http-error';

const STATUS: Readonly<Record<ErrorCode, ErrorStatus>> = {
  invalid_argument: 400,
  permission_denied: 403,
  not_found: 404,
  already_exists: 409,
  failed_precondition: 409,
  aborted: 409,
  resource_exhausted: 429,
  unavailable: 503,
  deadline_exceeded: 503,
  unimplemented: 503,
  internal: 500,
};

/** The HTTP error of a refused request to build: its code is the reason, as the wire contract has it. */
export function refusalOf(thrown: unknown): HttpError {
  if (!(thrown instanceof BerthError)) return httpErrorOf(thrown);
  const { code, reason, message } = thrown;
  if (reason === 'no_such_queue')
    return later(503, 'no conductor, or no scheduler, has started yet', 'berth.not_started');
  const status = STATUS[code];
  if (status === 500) return httpErrorOf(thrown);
  if (status === 429 || status === 503) return later(status, message, `berth.${reason}`);
  return new HttpError(status, message, `berth.${reason}`);
}

function later(status: 429 | 503, message: string, code: `berth.${string}`): HttpError {
  return new HttpError(status, message, code, { 'retry-after': '1' });
}
