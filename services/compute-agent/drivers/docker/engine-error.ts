import { BerthError } from '#libs/domain/errors';

/** What the engine answered, as a BerthError: its own, when it is one already. */
export function engineError(thrown: unknown): BerthError {
  if (thrown instanceof BerthError) return thrown;
  const status = statusOf(thrown);
  const message = `Docker: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
  const options = { cause: thrown };
  if (status === undefined) return new BerthError('unavailable', 'engine', message, options);
  return new BerthError('failed_precondition', 'engine_refused', message, options);
}

/** There is no such container, or image. */
export function isGone(thrown: unknown): boolean {
  return statusOf(thrown) === 404;
}

/** The container is as it should be already. */
export function isUnchanged(thrown: unknown): boolean {
  return statusOf(thrown) === 304;
}

function statusOf(thrown: unknown): number | undefined {
  return (thrown as { readonly statusCode?: number }).statusCode;
}
