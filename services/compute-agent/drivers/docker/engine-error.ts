import { BerthError } from '#libs/domain/errors';

/** An engine's error as a BerthError; a BerthError stays. */
export function engineError(thrown: unknown): BerthError {
  if (thrown instanceof BerthError) return thrown;
  const status = statusOf(thrown);
  const message = `Docker: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
  const options = { cause: thrown };
  if (status === undefined) return new BerthError('unavailable', 'engine', message, options);
  return new BerthError('failed_precondition', 'engine_refused', message, options);
}

/** True when the container or image does not exist. */
export function isGone(thrown: unknown): boolean {
  return statusOf(thrown) === 404;
}

/** True when the container was already in the requested state. */
export function isUnchanged(thrown: unknown): boolean {
  return statusOf(thrown) === 304;
}

function statusOf(thrown: unknown): number | undefined {
  return (thrown as { readonly statusCode?: number }).statusCode;
}
