import type { JsonAnswer } from '#libs/runtime/fetch-json';
import { fetchWithin, type Patience } from './fetch-within';
import { refusal, unreachable } from './placement-errors';

/** The parameters of a query string; a name may be repeated. */
export type Query = readonly (readonly [name: string, value: string])[];

/** One parameter per defined value. */
export function parameter(name: string, ...values: readonly (string | undefined)[]): Query {
  return values.flatMap((value) => (value === undefined ? [] : [[name, value] as const]));
}

export interface PlacementAddress extends Patience {
  readonly url: string;
  readonly token: string;
}

/** One request below the address. */
export interface PlacementRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  /** The minor number of the microversion; that of the documents that commands read unless given. */
  readonly minor?: number;
  readonly headers?: Readonly<Record<string, string>>;
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
export async function getDocument<T>(
  address: PlacementAddress,
  path: string,
  query: Query = [],
  headers: PlacementRequest['headers'] = {},
): Promise<T> {
  const parameters = new URLSearchParams(query.map(([name, value]): [string, string] => [name, value])).toString();
  const asked = `${path}${parameters === '' ? '' : `?${parameters}`}`;
  const { status, body } = await askPlacement(address, { path: asked, headers });
  if (status === 200 && typeof body === 'object' && body !== null) return body as T;
  throw refusal(status, body, address.url);
}

/**
 * The answer, of any status, to a request.
 *
 * @throws BerthError `unavailable`, `deadline_exceeded`, `aborted / interrupted`.
 */
export async function askPlacement(address: PlacementAddress, request: PlacementRequest): Promise<JsonAnswer> {
  const { method = 'GET', path, body, minor = NEWEST_MINOR, requestId } = request;
  const headers = {
    ...request.headers,
    'openstack-api-version': `placement 1.${minor}`,
    'x-auth-token': address.token,
    ...(requestId === undefined ? {} : { 'x-openstack-request-id': requestId }),
  };
  const url = address.url.replace(/\/+$/, '') + path;
  return fetchWithin(url, { method, headers, body }, address, (thrown, isLate) => unreachable(thrown, address, isLate));
}
