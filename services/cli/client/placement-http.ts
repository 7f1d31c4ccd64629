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

/** The microversion of the documents that commands read. */
const MICROVERSION = 'placement 1.39';

/**
 * The JSON document at a path of the placement API.
 *
 * @throws BerthError `unavailable`, `deadline_exceeded`, `aborted / interrupted`, and `refusal` for any status but 200.
 */
export async function getDocument<T>(address: PlacementAddress, path: string, query: Query = []): Promise<T> {
  const parameters = new URLSearchParams(query.map(([name, value]): [string, string] => [name, value])).toString();
  const root = address.url.replace(/\/+$/, '');
  const { status, body } = await ask(address, `${root}${path}${parameters === '' ? '' : `?${parameters}`}`);
  if (status === 200 && typeof body === 'object' && body !== null) return body as T;
  throw refusal(status, body, address.url);
}

async function ask(address: PlacementAddress, url: string): Promise<JsonAnswer> {
  const { token, timeoutMs, clock, interrupted } = address;
  const late = new AbortController();
  const cancel = clock.after(timeoutMs, () => late.abort());
  try {
    return await fetchJson(url, {
      headers: { 'openstack-api-version': MICROVERSION, 'x-auth-token': token },
      signal: AbortSignal.any([late.signal, interrupted]),
    });
  } catch (thrown) {
    if (interrupted.aborted) throw new BerthError('aborted', 'interrupted', 'interrupted');
    throw unreachable(thrown, address, late.signal.aborted);
  } finally {
    cancel();
  }
}
