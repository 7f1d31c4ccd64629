import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { refusal, unreachable } from './placement-errors';

/** The parameters of a query string; a name may be repeated. */
export type Query = readonly (readonly [name: string, value: string])[];

/** One parameter for each value that is defined. */
export function parameter(name: string, ...values: readonly (string | undefined)[]): Query {
  return values.flatMap((value) => (value === undefined ? [] : [[name, value] as const]));
}

export interface PlacementAddress {
  readonly url: string;
  readonly token: string;
  /** Limit for one answer. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Aborts calls under way (Ctrl-C). */
  readonly interrupted: AbortSignal;
}

/** The microversion whose documents commands read. */
const MICROVERSION = 'placement 1.39';

/**
 * The JSON document at a path of the placement API.
 *
 * @throws BerthError `unavailable`, `deadline_exceeded`, `aborted / interrupted`, and `refusal` for any status but 200.
 */
export async function getDocument<T>(address: PlacementAddress, path: string, query: Query = []): Promise<T> {
  const parameters = new URLSearchParams(query.map(([name, value]): [string, string] => [name, value])).toString();
  const root = address.url.replace(/\/+$/, '');
  const { status, body } = await fetchJson(address, `${root}${path}${parameters === '' ? '' : `?${parameters}`}`);
  if (status === 200 && typeof body === 'object' && body !== null) return body as T;
  throw refusal(status, body, address.url);
}

async function fetchJson(address: PlacementAddress, url: string): Promise<{ status: number; body: unknown }> {
  const { token, timeoutMs, clock, interrupted } = address;
  const late = new AbortController();
  const cancel = clock.after(timeoutMs, () => late.abort());
  try {
    const response = await fetch(url, {
      headers: { accept: 'application/json', 'openstack-api-version': MICROVERSION, 'x-auth-token': token },
      // Following a redirect would send the token to whatever host it names.
      redirect: 'manual',
      signal: AbortSignal.any([late.signal, interrupted]),
    });
    return { status: response.status, body: jsonOf(await response.text()) };
  } catch (thrown) {
    if (interrupted.aborted) throw new BerthError('aborted', 'interrupted', 'interrupted');
    throw unreachable(thrown, address, late.signal.aborted);
  } finally {
    cancel();
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
