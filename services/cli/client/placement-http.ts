import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { fetchJson, type JsonAnswer } from '#libs/runtime/fetch-json';
import { refusal, unreachable } from './placement-errors';

/** The parameters of a query string; a name may be repeated. */
export type Query = readonly (readonly [name: string, value: string])[];

/** One parameter per defined value. */
export function parameter(name: string, ...values: readonly (string | undefined)[]): Query {
  return values.flatMap((value) => (value === undefined ? [] : [[name, value] as const]));
}

export interface PlacementAddress {
  readonly url: string;
  readonly token: string;
  /** Time limit of one answer. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Aborts calls in flight (Ctrl-C). */
  readonly interrupted: AbortSignal;
}

/** One request below the address. */
export interface PlacementRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  /** The minor number of the microversion; that of the documents that commands read unless given. */
  readonly minor?: number;
  /** A global request id, by which the services' logs can be followed. */
  readonly requestId?: string;
}

/** The microversion of the documents that commands read. */
export const NEWEST_MINOR = 39;

/**
 * The JSON document at a path of the placement API.
 *
 * @throws BerthError `unavailable`, `deadline_exceeded`, `aborted / interrupted`, and `refusal` for any status but 200.
 */
export async function getDocument<T>(address: PlacementAddress, path: string, query: Query = []): Promise<T> {
  const parameters = new URLSearchParams(query.map(([name, value]): [string, string] => [name, value])).toString();
  const { status, body } = await askPlacement(address, { path: `${path}${parameters === '' ? '' : `?${parameters}`}` });
  if (status === 200 && typeof body === 'object' && body !== null) return body as T;
  throw refusal(status, body, address.url);
}

/**
 * The answer, of any status, to a request.
 *
 * @throws BerthError `unavailable`, `deadline_exceeded`, `aborted / interrupted`.
 */
export async function askPlacement(address: PlacementAddress, request: PlacementRequest): Promise<JsonAnswer> {
  const { token, timeoutMs, clock, interrupted } = address;
  const { method = 'GET', path, body, minor = NEWEST_MINOR, requestId } = request;
  const late = new AbortController();
  const cancel = clock.after(timeoutMs, () => late.abort());
  try {
    return await fetchJson(address.url.replace(/\/+$/, '') + path, {
      method,
      headers: {
        'openstack-api-version': `placement 1.${minor}`,
        'x-auth-token': token,
        ...(requestId === undefined ? {} : { 'x-openstack-request-id': requestId }),
      },
      body,
      signal: AbortSignal.any([late.signal, interrupted]),
    });
  } catch (thrown) {
    if (interrupted.aborted) throw new BerthError('aborted', 'interrupted', 'interrupted');
    throw unreachable(thrown, address, late.signal.aborted);
  } finally {
    cancel();
  }
}
