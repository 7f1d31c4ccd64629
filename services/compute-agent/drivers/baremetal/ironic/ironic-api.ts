import { AuthError } from '#libs/auth/auth-error';
import { authorizedFetch, type Tokens } from '#libs/auth/authorized-fetch';
import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { fetchJson, type JsonAnswer, type JsonRequest } from '#libs/runtime/fetch-json';
import type { Fence } from '../../fenced';
import { isPassing, retryAfterMs } from '../passing-answers';

/** The account of a standalone Ironic (`http_basic`), tokens of Keystone's, or none (`noauth`). */
export type IronicLogin =
  | { readonly kind: 'none' }
  | { readonly kind: 'basic'; readonly user: string; readonly password: string }
  | { readonly kind: 'keystone'; readonly tokens: Tokens };

export interface IronicParts {
  /** `http://ironic:6385` */
  readonly root: string;
  readonly login: IronicLogin;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

export interface IronicRequest {
  readonly method?: JsonRequest['method'];
  /** Below the root: `/v1/nodes`. */
  readonly path: string;
  readonly body?: unknown;
  /** Called last before each attempt of an order. */
  readonly fence?: Fence;
}

/**
 * Sends a request to Ironic's API, and again after the service's `Retry-After`.
 *
 * @returns the body of a success
 * @throws BerthError `unavailable / controller_away`, `/ controller_busy` (another request has locked the node), which
 *   may pass; `failed_precondition / controller_refused`, `/ login_refused`; of the fence
 */
export type AskIronic = (request: IronicRequest) => Promise<unknown>;

/** The microversion of all requests, of Ironic 12 (Rocky), the first that protects instances: newer Ironics serve it. */
const MICROVERSION = '1.48';
const MAX_TRIES = 3;
const MAX_PAUSE_MS = 30_000;

export function askIronic({ root, login, timeoutMs, clock }: IronicParts): AskIronic {
  return async ({ method = 'GET', path, body, fence }) => {
    const url = root + path;
    for (let tries = 1; ; tries++) {
      fence?.();
      const headers = { 'x-openstack-ironic-api-version': MICROVERSION };
      const request = { method, body, headers, signal: AbortSignal.timeout(timeoutMs) };
      const answer = await send(login, url, request).catch((cause: unknown) => {
        throw away(url, cause);
      });
      const askedMs = retryAfterMs(answer, clock);
      if (!isPassing(answer.status) || askedMs === undefined || askedMs > MAX_PAUSE_MS || tries === MAX_TRIES)
        return bodyOf(answer, url);
      await sleep(clock, askedMs);
    }
  };
}

function send(login: IronicLogin, url: string, request: JsonRequest): Promise<JsonAnswer> {
  if (login.kind === 'keystone') return authorizedFetch(login.tokens, url, request);
  if (login.kind === 'none') return fetchJson(url, request);
  const credentials = Buffer.from(`${login.user}:${login.password}`).toString('base64');
  return fetchJson(url, { ...request, headers: { ...request.headers, authorization: `Basic ${credentials}` } });
}

function away(url: string, cause: unknown): BerthError {
  if (cause instanceof AuthError) {
    const message = `Keystone is unavailable, or refuses the account (BERTH_AGENT_IRONIC_USERNAME)`;
    return new BerthError('unavailable', 'controller_away', message, { cause });
  }
  const { message, cause: inner } = cause as Error;
  const why = inner instanceof Error ? inner.message : message;
  return new BerthError('unavailable', 'controller_away', `no answer from ${url} (${why})`, { cause });
}

function bodyOf({ status, body }: JsonAnswer, url: string): unknown {
  if (status >= 200 && status < 300) return body;
  const message = `${url} answered ${status}: ${faultOf(body) || 'without a message'}`;
  if (isPassing(status)) throw new BerthError('unavailable', 'controller_away', message);
  if (status === 401) throw new BerthError('failed_precondition', 'login_refused', message);
  // A lock lasts as long as a step of the conductor; other conflicts last.
  if (status === 409 && /is locked|state transition is in progress/.test(message))
    throw new BerthError('unavailable', 'controller_busy', message);
  throw new BerthError('failed_precondition', 'controller_refused', message);
}

const MOST_FAULT = 300;

/** Ironic's `error_message`: an object, or that object once more as JSON. */
function faultOf(body: unknown): string {
  const { error_message: shown } = (body ?? {}) as { error_message?: unknown };
  let fault: unknown = shown;
  if (typeof shown === 'string') {
    try {
      fault = JSON.parse(shown);
    } catch {
      return shown.slice(0, MOST_FAULT);
    }
  }
  const { faultstring } = (fault ?? {}) as { faultstring?: unknown };
  return typeof faultstring === 'string' ? faultstring.slice(0, MOST_FAULT) : '';
}
