import { BerthError } from '#libs/domain/errors';
import { ERROR_CODE, HttpError } from './http-error';

/** Whatever a handler, the store or fastify throws, as a refusal; what nobody foresaw is a 500 that tells nothing. */
export function httpErrorOf(thrown: unknown): HttpError {
  if (thrown instanceof HttpError) return thrown;
  if (thrown instanceof BerthError) {
    switch (thrown.code) {
      case 'invalid_argument':
        return new HttpError(400, thrown.message);
      case 'aborted':
        return new HttpError(409, thrown.message, ERROR_CODE.concurrentUpdate);
      case 'unavailable':
      case 'deadline_exceeded':
      case 'resource_exhausted':
        return new HttpError(503, thrown.message, ERROR_CODE.undefined, { 'retry-after': '1' });
      default:
        break;
    }
  }
  // What fastify itself refuses: a body over the limit or not as long as it says.
  const status = (thrown as { statusCode?: number }).statusCode;
  if (status === 400 || status === 413 || status === 415) return new HttpError(status, BerthError.from(thrown).message);
  return new HttpError(500, 'an unexpected error; the log of the placement API has it under the request id');
}
