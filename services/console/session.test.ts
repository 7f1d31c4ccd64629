import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ACK, drop } from '#libs/bus/port';
import { operatorActionCodec } from '#libs/contracts/operator-action';
import { BerthError } from '#libs/domain/errors';
import { CONNECTION_LIMITS } from '#libs/runtime/bound-connections';
import { answersOfMany } from '#libs/testing/answers-of-many';
import { aReport, mustReport } from '#libs/testing/placement/placement';
import { Browse, type Listening } from './testing/browse';
import { openWorld, type World } from './testing/world';

const TOKENS = [
  { token: 'token-of-the-admin', user_id: 'ann', project_id: 'ops', roles: ['admin'] },
  { token: 'token-of-the-reader', user_id: 'rob', project_id: 'ops', roles: ['reader'] },
  { token: 'token-of-the-tenant', user_id: 'tom', project_id: 'shop', roles: ['member'] },
];
const DISABLE = ['POST', '/api/hosts/host-1/actions', { action: 'disable', reason: 'disks' }] as const;

let folder: string;
let world: World;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-console-'));
  const file = join(folder, 'tokens.json');
  writeFileSync(file, JSON.stringify(TOKENS));
  world = await openWorld({ BERTH_PLACEMENT_AUTH: 'tokens', BERTH_PLACEMENT_TOKENS_FILE: file });
  await mustReport(world.placement, aReport());
});
afterAll(async () => {
  await world.close();
  rmSync(folder, { recursive: true });
});

describe('a session', () => {
  it('begins with a token that the placement API would take, in a cookie that no script and no other site gets', async () => {
    const browse = new Browse(world.url);
    expect(await browse.ask('GET', '/api/session')).toMatchObject({ status: 401, body: { reason: 'not_signed_in' } });
    const { status, headers, body } = await browse.ask('POST', '/api/session', { token: 'token-of-the-admin' });
    expect([status, body]).toEqual([
      200,
      {
        userId: 'ann',
        projectId: 'ops',
        roles: ['admin'],
        mayAct: true,
        csrfToken: expect.any(String),
        auth: 'tokens',
      },
    ]);
    for (const cookie of headers.getSetCookie()) expect(cookie).toMatch(/; Path=\/; HttpOnly; SameSite=Strict/);
    expect(await browse.ask('GET', '/api/session')).toMatchObject({ status: 200, body: { userId: 'ann' } });
    await browse.ask('DELETE', '/api/session');
    expect(await browse.ask('GET', '/api/session')).toMatchObject({ status: 401 });
  });

  it.each([
    ['an unknown token', { token: 'no-such' }, 401, 'not_signed_in'],
    ['a user without a role', { token: 'token-of-the-tenant' }, 403, 'no_role'],
    ['no token', {}, 400, 'bad_token'],
    ['a number', { token: 7 }, 400, 'bad_token'],
    ['a text beyond all tokens', { token: 'x'.repeat(3_000) }, 400, 'bad_token'],
  ])('does not begin with %s', async (_what, sent, status, reason) => {
    const answer = await new Browse(world.url).ask('POST', '/api/session', sent);
    expect(answer).toMatchObject({ status, body: { reason } });
    expect(answer.headers.getSetCookie().filter((cookie) => cookie.startsWith('berth_token'))).toEqual([]);
  });

  it.each(['/api/stream?page=fleet', '/api/search?q=h', '/api/choices', '/api/dead-letters', '/api/rehearsals/x'])(
    'is needed for %s',
    async (path) => {
      expect(await new Browse(world.url).ask('GET', path)).toMatchObject({ status: 401 });
    },
  );
});

describe('a stranger', () => {
  it('may guess so often only, by which nobody is signed out', async () => {
    const own = await openWorld({
      BERTH_PLACEMENT_AUTH: 'tokens',
      BERTH_PLACEMENT_TOKENS_FILE: join(folder, 'tokens.json'),
      BERTH_CONSOLE_SECURE_COOKIES: 'true',
    });
    const ann = new Browse(own.url);
    const { headers } = await ann.ask('POST', '/api/session', { token: 'token-of-the-admin' });
    // A proxy serves HTTPS, and the console's setting says so.
    for (const cookie of headers.getSetCookie()) expect(cookie).toMatch(/^__Host-.*; Path=\/.*; Secure/);
    // Set for the whole domain, by another host of it.
    const tossed = { headers: { cookie: 'berth_token=token-of-the-admin' } };
    expect((await fetch(`${own.url}/api/session`, tossed)).status).toBe(401);
    const guess = (n: number) => new Browse(own.url).ask('POST', '/api/session', { token: `guess-${n}` });
    const answers = [];
    for (let n = 0; n < 22; n++) answers.push(await guess(n));
    expect(answers.map(({ status }) => status)).toEqual([...Array(20).fill(401), 429, 429]);
    expect(answers.at(-1)?.body).toMatchObject({ reason: 'too_many_guesses' });
    expect(await ann.ask('GET', '/api/session')).toMatchObject({ status: 200 });
    await own.close();
  });

  it('ends a connection that asks for many pages at once', async () => {
    const answers = await answersOfMany(new URL(world.url), '/main.css');
    expect(answers).toBeLessThanOrEqual(CONNECTION_LIMITS.requestsEach);
  });

  it('holds no connection with half a request', async () => {
    const { port } = new URL(world.url);
    const socket = connect(Number(port), '127.0.0.1');
    const ended = once(socket, 'close');
    socket.write(
      'POST /api/session HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{',
    );
    socket.resume();
    expect(await ended).toEqual([false]);
  }, 30_000);
});

describe('open pages', () => {
  const signedIn = async (url: string, token: string) => {
    const browse = new Browse(url);
    await browse.signIn(token);
    return browse;
  };
  const page = '/api/stream?page=fleet';
  let own: World;
  const open: Listening[] = [];
  const listen = async (browse: Browse) => {
    const stream = await browse.listen(page);
    await stream.until('shell');
    open.push(stream);
  };
  const start = async (all: number, ofOne: number) => {
    own = await openWorld({
      BERTH_PLACEMENT_AUTH: 'tokens',
      BERTH_PLACEMENT_TOKENS_FILE: join(folder, 'tokens.json'),
      BERTH_CONSOLE_MAX_STREAMS: String(all),
      BERTH_CONSOLE_MAX_STREAMS_PER_USER: String(ofOne),
    });
  };
  afterEach(async () => {
    for (const stream of open.splice(0)) stream.close();
    await own.close();
  });

  it('are so many of one user, in however many browsers, and others have theirs', async () => {
    await start(20, 2);
    for (let n = 0; n < 2; n++) await listen(await signedIn(own.url, 'token-of-the-reader'));
    const rob = await signedIn(own.url, 'token-of-the-reader');
    expect(await rob.ask('GET', page)).toMatchObject({
      status: 429,
      body: { reason: 'too_many_pages', message: expect.stringContaining('BERTH_CONSOLE_MAX_STREAMS_PER_USER') },
    });
    await listen(await signedIn(own.url, 'token-of-the-admin'));
  });

  it('leave a tenth to those who may act', async () => {
    await start(10, 10);
    const [rob, ann] = [await signedIn(own.url, 'token-of-the-reader'), await signedIn(own.url, 'token-of-the-admin')];
    for (let n = 0; n < 9; n++) await listen(rob);
    expect(await rob.ask('GET', page)).toMatchObject({ status: 429, body: { reason: 'too_many_pages' } });
    await listen(ann);
    expect(await ann.ask('GET', page)).toMatchObject({ status: 429 });
  });
});

describe('an action', () => {
  it('is refused to a reader, and told with who asked', async () => {
    const told = new Promise((resolve) => {
      void world.bus.subscribe('operator.#', (topic, { body }) =>
        resolve({ topic, ...operatorActionCodec.decode(body) }),
      );
    });
    const browse = new Browse(world.url);
    const csrf = await browse.signIn('token-of-the-reader');
    const answer = await browse.ask(...DISABLE, { 'x-csrf-token': csrf });
    expect(answer).toMatchObject({ status: 403, body: { code: 'permission_denied', reason: 'read_only' } });
    expect(await told).toMatchObject({
      topic: 'operator.host_disable.rob',
      action: 'host_disable',
      target: 'host-1',
      userId: 'rob',
      error: { reason: 'read_only' },
    });
  });

  it('needs the CSRF token of its session', async () => {
    const browse = new Browse(world.url);
    await browse.signIn('token-of-the-admin');
    expect(await browse.ask(...DISABLE)).toMatchObject({ status: 403, body: { reason: 'csrf' } });
    // Another session's token is refused, even with the same secret in its cookie.
    const other = await browse.signIn('token-of-the-reader');
    await browse.signIn('token-of-the-admin');
    expect(await browse.ask(...DISABLE, { 'x-csrf-token': other })).toMatchObject({
      status: 403,
      body: { reason: 'csrf' },
    });
  });

  it.each([{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }, { origin: 'null' }])(
    'is refused when another site sent it: %o',
    async (headers) => {
      const browse = new Browse(world.url);
      const csrf = await browse.signIn('token-of-the-admin');
      const answer = await browse.ask(...DISABLE, { 'x-csrf-token': csrf, ...headers });
      expect(answer).toMatchObject({ status: 403, body: { reason: 'other_site' } });
    },
  );
});

it('shows dead letters, and sends one to its queue again', async () => {
  const queue = { name: 'console.test', kind: 'transient' } as const;
  const problem = new BerthError('invalid_argument', 'malformed_message', 'made to fail');
  const taken: string[] = [];
  let isMended = false;
  await world.bus.consume(queue, async ({ id }) => {
    if (!isMended) return drop(problem);
    taken.push(id);
    return ACK;
  });
  await world.bus.cast(queue, { type: 'berth.test', body: new Uint8Array(3) }, { id: 'letter-1' });
  const browse = new Browse(world.url);
  const csrf = await browse.signIn('token-of-the-admin');
  const read = async () => (await browse.ask('GET', '/api/dead-letters')).body;
  expect(await read()).toMatchObject([
    { id: 'letter-1', queue: 'console.test', reason: 'malformed_message', bytes: 3 },
  ]);
  isMended = true;
  const requeue = { action: 'requeue', id: 'letter-1' };
  const again = () => browse.ask('POST', '/api/dead-letters/actions', requeue, { 'x-csrf-token': csrf });
  expect(await again()).toMatchObject({ status: 200 });
  expect(await read()).toEqual([]);
  expect(taken).toEqual(['letter-1']);
  expect(await again()).toMatchObject({ status: 404, body: { reason: 'no_such_dead_letter' } });
});

it.each([
  ['/api/hosts/host-1/actions', { action: 'explode' }, 'bad_action'],
  ['/api/hosts/host-1/actions', { action: 'constructor' }, 'bad_action'],
  ['/api/hosts/host-1/actions', { action: 7 }, 'bad_body'],
  ['/api/instances/nothing/actions', {}, 'bad_action'],
  ['/api/dead-letters/actions', { action: 'requeue' }, 'missing_field'],
])('refuses what can not be meant: %s %o', async (path, body, reason) => {
  const browse = new Browse(world.url);
  const csrf = await browse.signIn('token-of-the-admin');
  expect(await browse.ask('POST', path, body, { 'x-csrf-token': csrf })).toMatchObject({
    status: 400,
    body: { reason },
  });
});

it('sends headers that keep other sites and scripts out', async () => {
  const { headers } = await new Browse(world.url).ask('GET', '/api/session');
  expect(headers.get('content-security-policy')).toBe(
    "default-src 'none';script-src 'self';style-src 'self';img-src 'self' data:;connect-src 'self';base-uri 'none';form-action 'self';frame-ancestors 'none'",
  );
  expect(headers.get('x-frame-options')).toBe('DENY');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('referrer-policy')).toBe('no-referrer');
});

it('without authentication answers to the names of this machine only', async () => {
  const open = await openWorld();
  try {
    expect(await new Browse(open.url).ask('GET', '/api/session')).toMatchObject({
      status: 200,
      body: { userId: 'admin' },
    });
    const { hostname, port } = new URL(open.url);
    const rebound = await new Promise<number>((resolve, reject) => {
      void import('node:http').then(({ get }) => {
        get(
          { host: hostname, port, path: '/api/session', headers: { host: `evil.example:${port}` } },
          ({ statusCode = 0 }) => resolve(statusCode),
        ).on('error', reject);
      });
    });
    expect(rebound).toBe(403);
  } finally {
    await open.close();
  }
});

it('does not listen beyond this machine without authentication', async () => {
  await expect(openWorld({ BERTH_CONSOLE_HOST: '0.0.0.0' })).rejects.toMatchObject({ reason: 'noauth_not_local' });
});
