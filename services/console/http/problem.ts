import { AuthError } from '#libs/auth/auth-error';
import { BerthError, type ErrorCode } from '#libs/domain/errors';
import type { Problem } from '../api/session';

/** The answer to a refused request. */
export interface Refusal {
  readonly status: number;
  readonly problem: Problem;
}

const STATUS: Readonly<Record<ErrorCode, number>> = {
  invalid_argument: 400,
  not_found: 404,
  already_exists: 409,
  permission_denied: 403,
  failed_precondition: 409,
  aborted: 409,
  resource_exhausted: 429,
  unavailable: 503,
  deadline_exceeded: 504,
  unimplemented: 501,
  internal: 500,
};

const NOT_AUTHENTICATED: Readonly<Record<AuthError['status'], Pick<Problem, 'code' | 'reason'>>> = {
  401: { code: 'permission_denied', reason: 'not_signed_in' },
  429: { code: 'resource_exhausted', reason: 'too_many_guesses' },
  503: { code: 'unavailable', reason: 'identity_away' },
};

/** The answer to any error of a handler; a defect without its details. */
export function refusalOf(thrown: unknown): Refusal {
  if (thrown instanceof AuthError) {
    return { status: thrown.status, problem: { ...NOT_AUTHENTICATED[thrown.status], message: thrown.message } };
  }
  if (thrown instanceof BerthError && thrown.code !== 'internal') {
    return { status: STATUS[thrown.code], problem: problemOf(thrown) };
  }
  // An error of fastify or its plugins: an invalid JSON body, a missing CSRF token.
  const { statusCode: status = 500, code = '' } = thrown as { statusCode?: number; code?: string };
  if (status >= 400 && status < 500) {
    const reason = code.startsWith('FST_CSRF') ? 'csrf' : 'bad_request';
    const kind = status === 403 ? 'permission_denied' : 'invalid_argument';
    return { status, problem: { code: kind, reason, message: BerthError.from(thrown).message } };
  }
  const message = 'an unexpected error; the log of the console has it under the request id';
  return { status: 500, problem: { code: 'internal', reason: 'unexpected', message } };
}

/** An error in the form for pages. */
export function problemOf({ code, reason, message }: BerthError): Problem {
  return { code, reason, message };
}
