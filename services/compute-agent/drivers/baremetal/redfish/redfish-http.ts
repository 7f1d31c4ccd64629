import { BerthError } from '#libs/domain/errors';

/** A session has ended by which something was asked. */
export class SessionEnded extends Error {}

/** An answer of a Redfish service. */
export interface RedfishAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The resource, or its extended error. */
  readonly body: Readonly<Record<string, unknown>>;
}

export interface RedfishRequest {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly body?: unknown;
  /** X-Auth-Token of a session. */
  readonly token?: string | undefined;
  readonly ifMatch?: string;
}

/**
 * Asks a Redfish service (DMTF DSP0266) one thing.
 *
 * @param url  absolute
 * @returns also answers that say no
 * @throws BerthError `unavailable / controller_away`
 */
export type AskRedfish = (url: string, request: RedfishRequest, timeoutMs: number) => Promise<RedfishAnswer>;

/** Over HTTP. Redirects are answers that say no: to follow one would send the session's token to whatever host it names. */
export const askRedfish: AskRedfish = async (url, request, timeoutMs) => {
  const { method = 'GET', body, token, ifMatch } = request;
  const headers: Record<string, string> = { accept: 'application/json', 'odata-version': '4.0' };
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (token !== undefined) headers['x-auth-token'] = token;
  if (ifMatch !== undefined) headers['if-match'] = ifMatch;
  try {
    const text = body === undefined ? null : JSON.stringify(body);
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(url, { method, headers, body: text, redirect: 'manual', signal });
    const content = await response.text();
    return { status: response.status, headers: response.headers, body: content === '' ? {} : JSON.parse(content) };
  } catch (cause) {
    throw controllerAway(url, cause);
  }
};

export function controllerAway(url: string, cause?: unknown): BerthError {
  return new BerthError('unavailable', 'controller_away', `no answer from ${url}`, { cause });
}

/** @throws BerthError when the service refused, or was not able to answer. */
export function mustSucceed(answer: RedfishAnswer, url: string): RedfishAnswer {
  if (answer.status < 300) return answer;
  const { error } = answer.body as { error?: { message?: string } };
  const message = `${url} answered ${answer.status}: ${error?.message ?? 'without a message'}`;
  if (answer.status >= 500) throw new BerthError('unavailable', 'controller_away', message);
  throw new BerthError('failed_precondition', 'controller_refused', message);
}

/** By whom sessions are opened. */
export interface RedfishLogin {
  readonly user: string;
  readonly password: string;
  readonly timeoutMs: number;
  /** How services are asked; over HTTP unless given. */
  readonly ask?: AskRedfish;
}

export interface RedfishSession {
  readonly token: string;
  /** Of the session itself; absolute, or from the root of its service. */
  readonly location: string;
}

/** Below the root of a service. */
export const SESSIONS_PATH = '/redfish/v1/SessionService/Sessions';

/**
 * @param root     of the service: `https://bmc-7`
 * @param context  what the session is for, if its collection is to say that
 * @throws BerthError as `askRedfish` and `mustSucceed`
 */
export async function openSession(root: string, login: RedfishLogin, context?: string): Promise<RedfishSession> {
  const { user: UserName, password: Password, timeoutMs, ask = askRedfish } = login;
  const body = { UserName, Password, Context: context };
  const answer = await ask(root + SESSIONS_PATH, { method: 'POST', body }, timeoutMs);
  const { headers } = mustSucceed(answer, SESSIONS_PATH);
  const token = headers.get('x-auth-token');
  const location = headers.get('location');
  if (token === null || location === null) {
    throw new BerthError('failed_precondition', 'controller_refused', `${SESSIONS_PATH} opened no session`);
  }
  return { token, location };
}

/** The links of a collection, or of another list of references. */
export function membersOf(body: Readonly<Record<string, unknown>>): string[] {
  const members = (body['Members'] ?? []) as readonly { readonly '@odata.id': string }[];
  return members.map((member) => member['@odata.id']);
}
