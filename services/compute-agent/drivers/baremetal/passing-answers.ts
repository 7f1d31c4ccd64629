import type { Clock } from '#libs/domain/clock';

/**
 * True for the status of a service that starts, is overloaded, or fails for now: the same request may succeed later.
 */
export function isPassing(status: number): boolean {
  return status >= 500 ? status !== 501 && status !== 505 && status !== 507 : status === 408 || status === 429;
}

/** `Retry-After` in seconds or as a date; undefined for neither. */
export function retryAfterMs({ headers }: { readonly headers: Headers }, clock: Clock): number | undefined {
  const value = headers.get('retry-after');
  if (value === null) return undefined;
  if (/^\d+$/.test(value.trim())) return Number(value) * 1_000;
  // By the service's own clock, which may be set to anything.
  const nowMs = Date.parse(headers.get('date') ?? '') || clock.now();
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}
