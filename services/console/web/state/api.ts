import type { Problem, Session } from '../../api/session';

/** A request that the console refused, or could not answer. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem,
  ) {
    super(problem.message);
  }
}

let csrfToken = '';

/** Reads the signed-in user. @throws ApiError 401, 403. */
export async function readSession(): Promise<Session> {
  return keep(await ask<Session>('GET', '/api/session'));
}

/** Signs in with a token. @throws ApiError 401, 403. */
export async function signIn(token: string): Promise<Session> {
  return keep(await ask<Session>('POST', '/api/session', { token }));
}

export async function signOut(): Promise<void> {
  await ask('DELETE', '/api/session');
}

/** Reads from the console. @throws ApiError. */
export function read<T>(path: string, signal?: AbortSignal): Promise<T> {
  return ask('GET', path, undefined, signal);
}

/** Executes an action by the console. @throws ApiError. */
export function act<T>(path: string, body: unknown): Promise<T> {
  return ask('POST', path, body);
}

function keep(session: Session): Session {
  csrfToken = session.csrfToken;
  return session;
}

async function ask<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const headers: Record<string, string> = { 'x-csrf-token': csrfToken };
  if (body !== undefined) headers['content-type'] = 'application/json';
  const request: RequestInit = { method, headers };
  if (body !== undefined) request.body = JSON.stringify(body);
  if (signal) request.signal = signal;
  const response = await fetch(path, request).catch((thrown: unknown) => {
    if (signal?.aborted) throw thrown;
    throw new ApiError(0, { code: 'unavailable', reason: 'console_away', message: 'the console does not answer' });
  });
  const text = await response.text();
  const value = text === '' ? undefined : (JSON.parse(text) as unknown);
  if (!response.ok) throw new ApiError(response.status, value as Problem);
  return value as T;
}
