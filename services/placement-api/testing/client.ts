import { Agent, request } from 'node:http';
import { VERSION_HEADER } from '../http/microversion';
import type { Answered } from './answered';
import { requireDocumented } from './documented';

/** Differences from the default request: admin's, at the newest microversion. */
export interface Asking {
  /** 10 is 1.10; a text goes into the header unchanged; null: no header. */
  readonly version?: number | string | null;
  /** `user[:project]`, as in noauth; null: no token. */
  readonly as?: string | null;
  /** Comma-separated; default: noauth's roles of the user. */
  readonly roles?: string;
  /** Undefined removes a header. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/**
 * A client that sends one request, however malformed, and returns the whole answer. Answers of the newest microversion
 * must match the documentation.
 */
export interface Client {
  get(path: string, asking?: Asking): Promise<Answered>;
  /** The body is sent as JSON; a text unchanged; undefined: no body, no content type. */
  post(path: string, body: unknown, asking?: Asking): Promise<Answered>;
  put(path: string, body: unknown, asking?: Asking): Promise<Answered>;
  delete(path: string, asking?: Asking): Promise<Answered>;
  send(method: string, path: string, body: unknown, asking?: Asking): Promise<Answered>;
}

export function openClient(url: string): Client & { readonly url: string; close(): void } {
  const agent = new Agent({ keepAlive: true });
  const { hostname, port } = new URL(url);
  const send: Client['send'] = (method, path, body, asking = {}) => {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const length = text === undefined ? {} : { 'content-length': String(Buffer.byteLength(text)) };
    const all = { ...headersOf(asking, body), ...length, ...asking.headers };
    const headers = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    return new Promise((resolve, reject) => {
      const sent = request({ agent, hostname, port, method, path, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const answer = Buffer.concat(chunks).toString();
          const known = Object.entries(response.headers).map(([name, value]) => [name, [value].flat().join(', ')]);
          const answered: Answered = {
            status: response.statusCode ?? 0,
            headers: Object.fromEntries(known) as Answered['headers'],
            text: answer,
            body: jsonOf(answer),
          };
          try {
            requireDocumented(method, path, answered);
            resolve(answered);
          } catch (error) {
            reject(error);
          }
        });
      });
      sent.on('error', reject);
      sent.end(text);
    });
  };
  return {
    url,
    send,
    get: (path, asking) => send('GET', path, undefined, asking),
    post: (path, body, asking) => send('POST', path, body, asking),
    put: (path, body, asking) => send('PUT', path, body, asking),
    delete: (path, asking) => send('DELETE', path, undefined, asking),
    close: () => agent.destroy(),
  };
}

function headersOf({ version = 'latest', as = 'admin', roles }: Asking, body: unknown): Record<string, string> {
  const asked = typeof version === 'number' ? `1.${version}` : version;
  const plain = asked === null || asked.includes(' ');
  return {
    ...(asked === null ? {} : { [VERSION_HEADER]: plain ? asked : `placement ${asked}` }),
    ...(as === null ? {} : { 'x-auth-token': as }),
    ...(roles === undefined ? {} : { 'x-roles': roles }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
