import { BerthError, type ErrorCode } from '#libs/domain/errors';

/** The error document of the API working group's guideline. */
interface ErrorDocument {
  readonly errors?: readonly {
    readonly detail?: string;
    readonly code?: string;
    readonly max_version?: string;
  }[];
}

interface Meaning {
  readonly code: ErrorCode;
  /** For answers without an error code of Placement's. */
  readonly reason: string;
  readonly hint?: string;
}

const BY_STATUS: Readonly<Record<number, Meaning>> = {
  400: { code: 'invalid_argument', reason: 'bad_request' },
  401: {
    code: 'permission_denied',
    reason: 'unauthenticated',
    hint: "set BERTH_PLACEMENT_TOKEN to a token of the API's file or of Keystone; with noauth it is user:project",
  },
  403: {
    code: 'permission_denied',
    reason: 'forbidden',
    hint: 'the token is good, but its roles do not allow this: put one with the role admin or service in BERTH_PLACEMENT_TOKEN',
  },
  404: {
    code: 'not_found',
    reason: 'not_found',
    hint: 'it went away meanwhile, or BERTH_PLACEMENT_URL has a path that is not that of the API',
  },
  503: {
    code: 'unavailable',
    reason: 'api_unavailable',
    hint: 'the API runs, but what it needs (its store, or Keystone) is away; ask again',
  },
};

const UNDEFINED_CODE = 'placement.undefined_code';

/** The error for an answer other than 200; its reason is Placement's error code, if present. */
export function refusal(status: number, body: unknown, url: string): BerthError {
  const [first] = (body as ErrorDocument | undefined)?.errors ?? [];
  if (first === undefined) return notPlacement(status, url);
  if (status === 406) return tooOld(first.max_version, url);
  const meaning = BY_STATUS[status];
  const reason = first.code === undefined || first.code === UNDEFINED_CODE ? meaning?.reason : first.code;
  const why = plainDetail(first.detail ?? '') || 'it gives no reason';
  const message = `the placement API answered ${status}: ${why}`;
  const details = meaning?.hint === undefined ? {} : { hint: meaning.hint };
  return new BerthError(meaning?.code ?? 'internal', reason ?? 'unexpected_answer', message, { details });
}

/** The error for a call without an answer. */
export function unreachable(
  thrown: unknown,
  { url, timeoutMs }: { readonly url: string; readonly timeoutMs: number },
  isLate: boolean,
): BerthError {
  if (isLate) {
    const hint = 'only reading was asked for, so asking again is safe; BERTH_CLIENT_TIMEOUT_MS gives it longer';
    const message = `the placement API at ${url} did not answer within ${timeoutMs} ms`;
    return new BerthError('deadline_exceeded', 'api_silent', message, { details: { hint } });
  }
  // fetch has the cause only in `cause`; a code such as ECONNREFUSED says more than its message.
  const { message, cause } = thrown as { message: string; cause?: { code?: string; message?: string } };
  const why = cause?.code ?? cause?.message ?? message;
  const hint = "is it running, and is BERTH_PLACEMENT_URL right? 'berth placement-api' starts one";
  const text = `the placement API at ${url} cannot be reached (${why})`;
  return new BerthError('unavailable', 'api_unreachable', text, { details: { hint }, cause: thrown });
}

/** The answer is not from Placement: another server, or a proxy in front of an API that is down. */
function notPlacement(status: number, url: string): BerthError {
  const hint = 'is BERTH_PLACEMENT_URL right? it may need a path, such as https://cloud.example/placement';
  const message = `${url} answered ${status}, but not as a placement API does`;
  return new BerthError('unavailable', 'not_placement', message, { details: { hint } });
}

function tooOld(newest: string | undefined, url: string): BerthError {
  const hint = 'these commands need 1.39 (OpenStack Yoga or later)';
  const message = `the placement API at ${url} speaks microversions up to ${newest ?? 'an unknown one'}`;
  return new BerthError('failed_precondition', 'api_too_old', message, { details: { hint } });
}

/** The detail without its first sentence, which only repeats the status. */
function plainDetail(detail: string): string {
  return detail
    .slice(detail.indexOf('\n') + 1)
    .trim()
    .replaceAll(/\s+/g, ' ');
}
