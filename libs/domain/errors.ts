import { boundedText, MAX_ERROR_TEXT } from './naming/bounded-text';

/** A closed set; each code tells the caller what to do next. */
export type ErrorCode =
  | 'invalid_argument' // the request is wrong whatever the state; do not send it again
  | 'not_found' // a thing that the request names is not there
  | 'already_exists' // a thing that the request would create is there
  | 'permission_denied' // the caller may not do this
  | 'failed_precondition' // the state forbids it; the caller must change the state first
  | 'aborted' // somebody else was faster; read again and decide again
  | 'resource_exhausted' // a limit is reached (queue full, over capacity); wait or ask for less
  | 'unavailable' // a dependency is away; retry later, nothing was done
  | 'deadline_exceeded' // the outcome is unknown; ask again with the same id
  | 'unimplemented' // this peer does not know the request
  | 'internal'; // a defect in Berth

export interface ErrorOptions {
  /** Facts for a program: field names, limits, identifiers. */
  readonly details?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/**
 * The one exception of Berth. `reason` is a stable symbol (`wrong_host`, `queue_full`) that programs may compare;
 * the message is for people and says what to do next. Both it and the details may repeat a client's words, and are bounded.
 */
export class BerthError extends Error {
  readonly details: Readonly<Record<string, string>>;

  constructor(
    readonly code: ErrorCode,
    readonly reason: string,
    message: string,
    options: ErrorOptions = {},
  ) {
    super(boundedText(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'BerthError';
    this.details = boundedTexts(options.details ?? {});
  }

  /** The form for programs; JSON leaves out an error's message by itself. */
  toJSON() {
    const { code, reason, message, details } = this;
    return { code, reason, message, details };
  }

  /** Any thrown value as a BerthError; other errors become `internal` with their cause. */
  static from(thrown: unknown): BerthError {
    if (thrown instanceof BerthError) return thrown;
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return new BerthError('internal', 'unexpected', message, { cause: thrown });
  }
}

function boundedTexts(details: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const isShort = Object.values(details).every(({ length }) => length <= MAX_ERROR_TEXT);
  if (isShort) return details;
  return Object.fromEntries(Object.entries(details).map(([name, text]) => [name, boundedText(text)]));
}

/** A request that is wrong in itself. `field` is the path of the offending field, if there is one. */
export function invalidArgument(reason: string, message: string, field?: string): BerthError {
  return new BerthError('invalid_argument', reason, message, field === undefined ? {} : { details: { field } });
}

/**
 * True when this process caused the error, by its own code or by its input, and no peer did: errors of the engine
 * (`Invalid string length`, `Maximum call stack size exceeded`, type errors) and of Node's argument checks. The same
 * work fails again, however long a peer is away, so the code is never `unavailable`.
 */
export function isOwnFault(thrown: unknown): boolean {
  if (!isErrorLike(thrown)) return true;
  const { name, code } = thrown;
  return ENGINE_ERRORS.includes(name) || OWN_CODES.test(code ?? '');
}

/** Errors of another realm fail `instanceof`: Node's own do, in tests. */
function isErrorLike(thrown: unknown): thrown is NodeJS.ErrnoException {
  return typeof (thrown as Partial<Error> | null | undefined)?.message === 'string';
}

const ENGINE_ERRORS = ['RangeError', 'TypeError', 'SyntaxError', 'ReferenceError', 'URIError', 'EvalError'];
const OWN_CODES = /^ERR_(STRING_TOO_LONG|BUFFER_|INVALID_ARG|INVALID_RETURN|MISSING_ARGS|OUT_OF_RANGE|ASSERTION)/;

/** True for errors after which the same request may be sent again and can succeed. */
export function isRetryable(error: BerthError): boolean {
  return error.code === 'unavailable' || error.code === 'deadline_exceeded' || error.code === 'aborted';
}
