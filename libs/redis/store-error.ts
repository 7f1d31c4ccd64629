import { BerthError, isOwnFault } from '../domain/errors';

/** ioredis' messages for commands that it did not send, or that every node redirected. */
const NOT_DONE = /^(Stream isn't writeable|Cluster isn't ready|None of startup nodes|Too many Cluster redirections)/;
/** Messages of ioredis in plain words. */
const PLAIN: readonly (readonly [RegExp, string])[] = [
  [/^Stream isn't writeable/, 'the connection to it is down'],
  [/^Reached the max retries per request limit/, 'the connection to it broke'],
];
/** Replies of a server that can't serve now. */
const BUSY = /^(LOADING|READONLY|MISCONF|CLUSTERDOWN|MASTERDOWN|TRYAGAIN|BUSY|NOREPLICAS)\b/;
/** Redis 6 puts it behind the name of the script. */
const OUT_OF_MEMORY = /^OOM\b|-OOM command not allowed/;
const REFUSED = /^(NOAUTH|WRONGPASS|NOPERM)\b|invalid username-password pair/;

/**
 * An error of Redis or its client as a BerthError.
 *
 * - `unavailable / store_away`       the server can't be reached or can't serve now; nothing was done
 * - `unavailable / store_full`       the server is at its `maxmemory` and refuses writes; nothing was done
 * - `unavailable / outcome_unknown`  the connection broke meanwhile; it may or may not have run
 * - `unavailable / not_replicated`   it was done, but fewer replicas have it than asked for: a failover may lose it
 * - `permission_denied / store_credentials`
 * - `internal / store_reply`         the server rejected the command: a defect in Berth
 * - `internal / store_request`       the command could not be built: too many or too long arguments, or a defect
 */
export function storeError(thrown: unknown): BerthError {
  if (thrown instanceof BerthError) return thrown;
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const { message } = error;
  if (isOwnFault(thrown)) {
    return new BerthError('internal', 'store_request', `no command of the store could be made: ${message}`, {
      cause: error,
    });
  }
  if (REFUSED.test(message)) {
    const hint = 'check user and password in BERTH_STORE_URL';
    return new BerthError('permission_denied', 'store_credentials', `the store refuses: ${message}; ${hint}`);
  }
  if (error.name === 'ReplyError' && OUT_OF_MEMORY.test(message)) {
    const full = 'the store is at its limit of memory (maxmemory) and refuses writes; nothing was done';
    return new BerthError('unavailable', 'store_full', full, { cause: error });
  }
  if (error.name === 'ReplyError' && !BUSY.test(message)) {
    return new BerthError('internal', 'store_reply', message, { cause: error });
  }
  const isUnsent = error.name === 'ReplyError' || NOT_DONE.test(message) || isConnect(error);
  const why = PLAIN.find(([pattern]) => pattern.test(message))?.[1] ?? message;
  return isUnsent
    ? new BerthError('unavailable', 'store_away', `the store can't be reached: ${why}`, { cause: error })
    : new BerthError('unavailable', 'outcome_unknown', `the store did not answer: ${why}`, { cause: error });
}

function isConnect(error: NodeJS.ErrnoException): boolean {
  return error.syscall === 'connect' || error.syscall === 'getaddrinfo';
}
