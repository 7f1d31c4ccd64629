import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server that speaks the two calls of Keystone's that Berth makes, and fails as a test wishes. */
export interface FakeKeystone {
  readonly url: string;
  /** Known tokens: the description of each, or a status to answer. */
  readonly tokens: Map<string, object | number>;
  /** Calls so far: `login`, or the token asked about. */
  readonly calls: string[];
  /** Tokens of Berth's own that it takes; those that it issued are among them. */
  readonly logins: Set<string>;
  /** The password of Berth's user. */
  password: string;
  /** Resolves when it was asked so many times. */
  answered(count: number): Promise<void>;
  /** Answers to give instead of proper ones. */
  behaviour: 'proper' | 'silent' | 'broken' | 'nonsense' | 'redirect';
  close(): Promise<void>;
}

export const PASSWORD = 'berth-secret';

/** Starts one on a free port. The tokens that it issues to Berth end at `loginExpiresAt`. */
export async function startFakeKeystone(loginExpiresAt: () => string): Promise<FakeKeystone> {
  const server = createServer((request, response) => void answer(request, response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const fake: FakeKeystone = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    tokens: new Map(),
    calls: [],
    logins: new Set(),
    password: PASSWORD,
    async answered(count) {
      while (fake.calls.length < count) await new Promise(setImmediate);
    },
    behaviour: 'proper',
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return fake;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const send = (status: number, body: object, headers: Record<string, string> = {}) =>
      response.writeHead(status, headers).end(JSON.stringify(body));
    const path = new URL(request.url ?? '/', fake.url).pathname;
    const subject = String(request.headers['x-subject-token'] ?? 'login');
    fake.calls.push(path === '/v3/auth/tokens' ? subject : path);
    if (fake.behaviour === 'silent') return;
    if (fake.behaviour === 'broken') return void send(500, { error: { code: 500 } });
    if (fake.behaviour === 'nonsense') return void response.end('<html>hello</html>');
    if (fake.behaviour === 'redirect') return void send(302, {}, { location: `${fake.url}/elsewhere` });
    if (request.method === 'POST') return login(await bodyOf(request), send);
    if (!fake.logins.has(String(request.headers['x-auth-token']))) return void send(401, {});
    const facts = fake.tokens.get(subject) ?? 404;
    send(typeof facts === 'number' ? facts : 200, typeof facts === 'number' ? {} : { token: facts });
  }

  function login(body: LoginBody, send: (status: number, body: object, headers?: Record<string, string>) => unknown) {
    if (body.auth.identity.password.user.password !== fake.password) return void send(401, {});
    const token = `login-${fake.calls.length}`;
    fake.logins.add(token);
    send(201, { token: { user: { id: 'berth' }, expires_at: loginExpiresAt() } }, { 'x-subject-token': token });
  }
}

interface LoginBody {
  readonly auth: { readonly identity: { readonly password: { readonly user: { readonly password: string } } } };
}

async function bodyOf(request: IncomingMessage): Promise<LoginBody> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString()) as LoginBody;
}
