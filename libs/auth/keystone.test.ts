import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics, type Metrics } from '#libs/runtime/metrics';
import { type FakeClock, fakeClock } from '#libs/testing/fake-clock';
import type { Auth } from './auth';
import { openAuth } from './open';
import { authOptions } from './options';
import { type FakeKeystone, PASSWORD, startFakeKeystone } from './testing/fake-keystone';

const HOUR_MS = 3_600_000;
const away = { status: 503 };

let clock: FakeClock;
let keystone: FakeKeystone;
let lines: string[];
let metrics: Metrics;
const opened: Auth[] = [];

beforeEach(async () => {
  clock = fakeClock();
  lines = [];
  keystone = await startFakeKeystone(() => inMs(HOUR_MS));
  keystone.tokens.set('nova', tokenOf({ project: { id: 'p1' }, roles: [{ name: 'Admin' }, { name: 'reader' }] }));
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((auth) => auth.close()));
  await keystone.close();
});

async function openKeystoneAuth(env: Record<string, string> = {}) {
  const config = readConfig(authOptions, {
    BERTH_PLACEMENT_AUTH: 'keystone',
    BERTH_PLACEMENT_KEYSTONE_URL: keystone.url,
    BERTH_PLACEMENT_KEYSTONE_PASSWORD: PASSWORD,
    ...env,
  });
  const note = (_fields: object, message: string) => void lines.push(message);
  metrics = createMetrics({});
  const auth = await openAuth(config, { clock, metrics, log: { ...silentLog, info: note, error: note } });
  opened.push(auth);
  return { auth, authenticate: (token: string) => auth.authenticate({ 'x-auth-token': token }) };
}

it('tells whom a token stands for, and asks once while it is remembered', async () => {
  const { authenticate } = await openKeystoneAuth();
  const nova = { userId: 'u1', projectId: 'p1', roles: new Set(['admin', 'reader']), isSystemScoped: false };
  expect(await authenticate('nova')).toEqual(nova);
  await clock.advance(299_999);
  expect(await authenticate('nova')).toEqual(nova);
  expect(keystone.calls).toEqual(['login', 'nova']);
  await clock.advance(1);
  await authenticate('nova');
  expect(keystone.calls).toEqual(['login', 'nova', 'nova']);
});

it.each(['', '/', '/v3', '/v3/'])("takes Keystone's URL with '%s' at its end", async (end) => {
  const { authenticate } = await openKeystoneAuth({ BERTH_PLACEMENT_KEYSTONE_URL: keystone.url + end });
  expect(await authenticate('nova')).toMatchObject({ userId: 'u1' });
});

it('knows tokens for the system, and leaves out roles in a domain', async () => {
  const { authenticate } = await openKeystoneAuth();
  keystone.tokens.set('system', tokenOf({ system: { all: true }, roles: [{ name: 'admin' }] }));
  keystone.tokens.set('domain', tokenOf({ domain: { id: 'default' }, roles: [{ name: 'admin' }] }));
  keystone.tokens.set('unscoped', tokenOf({}));
  expect(await authenticate('system')).toMatchObject({ isSystemScoped: true, projectId: undefined });
  expect(await authenticate('domain')).toMatchObject({ isSystemScoped: false, roles: new Set() });
  expect(await authenticate('unscoped')).toMatchObject({ projectId: undefined, roles: new Set() });
});

it('forgets a token when it expires, however long it may be remembered', async () => {
  const { authenticate } = await openKeystoneAuth();
  keystone.tokens.set('short', tokenOf({ expires_at: inMs(5_000) }));
  await authenticate('short');
  await clock.advance(5_000);
  await expect(authenticate('short')).rejects.toMatchObject({ status: 401 });
});

it('refuses a bad token, points to Keystone, and does not ask again for a while', async () => {
  const { authenticate } = await openKeystoneAuth({ BERTH_PLACEMENT_KEYSTONE_PUBLIC_URL: 'https://id.example.com' });
  const refused = { status: 401, headers: { 'www-authenticate': 'Keystone uri="https://id.example.com"' } };
  await expect(authenticate('bad')).rejects.toMatchObject(refused);
  await expect(authenticate('bad')).rejects.toMatchObject(refused);
  expect(keystone.calls).toEqual(['login', 'bad']);
  await clock.advance(10_000);
  keystone.tokens.set('bad', tokenOf({}));
  expect(await authenticate('bad')).toMatchObject({ userId: 'u1' });
});

it.each([
  ['no token', ''],
  ['a longer token than there is', 'x'.repeat(2_049)],
  ['a space in it', 'with space'],
  ['letters beyond ASCII', 'ümlaut'],
])('does not bother Keystone with %s', async (_what, token) => {
  const { authenticate } = await openKeystoneAuth();
  const headers = { 'www-authenticate': `Keystone uri="${keystone.url}"` };
  await expect(authenticate(token)).rejects.toMatchObject({ status: 401, headers });
  expect(keystone.calls).toEqual([]);
});

it('remembers good tokens whatever bad ones come by, and forgets the one used least recent', async () => {
  const { authenticate } = await openKeystoneAuth({ BERTH_PLACEMENT_KEYSTONE_CACHED_TOKENS: '2' });
  for (const token of ['a', 'b', 'c']) keystone.tokens.set(token, tokenOf({}));
  for (const token of ['nova', 'a', 'nova']) await authenticate(token);
  for (const bad of ['x', 'y', 'z']) await expect(authenticate(bad)).rejects.toMatchObject({ status: 401 });
  await authenticate('b');
  keystone.calls.length = 0;
  for (const token of ['nova', 'b', 'a']) await authenticate(token);
  expect(keystone.calls).toEqual(['a']);
});

it('does not remember anything when told so', async () => {
  const { authenticate } = await openKeystoneAuth({ BERTH_PLACEMENT_KEYSTONE_CACHE_MS: '0' });
  await authenticate('nova');
  keystone.tokens.delete('nova');
  await expect(authenticate('nova')).rejects.toMatchObject({ status: 401 });
});

it('asks once for requests with the same token at the same time, and logs in once for all', async () => {
  const { authenticate } = await openKeystoneAuth();
  keystone.tokens.set('glance', tokenOf({}));
  await Promise.all(['nova', 'nova', 'glance', 'nova'].map(authenticate));
  expect(keystone.calls.sort()).toEqual(['glance', 'login', 'nova']);
});

it('logs in again when Keystone does not take its own token any more', async () => {
  const { authenticate } = await openKeystoneAuth();
  await authenticate('nova');
  keystone.logins.clear();
  keystone.tokens.set('glance', tokenOf({}));
  expect(await authenticate('glance')).toMatchObject({ userId: 'u1' });
  expect(keystone.calls).toEqual(['login', 'nova', 'glance', 'login', 'glance']);
});

it('logs in again before its own token ends', async () => {
  const { authenticate } = await openKeystoneAuth();
  await authenticate('nova');
  await clock.advance(HOUR_MS - 30_000);
  keystone.tokens.set('glance', tokenOf({}));
  await authenticate('glance');
  expect(keystone.calls).toEqual(['login', 'nova', 'login', 'glance']);
});

it('answers 503 when its own credentials are refused, and does not try them again for a while', async () => {
  const { authenticate } = await openKeystoneAuth({ BERTH_PLACEMENT_KEYSTONE_PASSWORD: 'wrong' });
  for (let attempt = 0; attempt < 3; attempt++) await expect(authenticate('nova')).rejects.toMatchObject(away);
  expect(keystone.calls).toEqual(['login']);
  await clock.advance(10_000);
  await expect(authenticate('nova')).rejects.toMatchObject(away);
  expect(keystone.calls).toEqual(['login', 'login']);
  expect(lines[0]).toMatch(/^Keystone refuses the credentials of this service.*BERTH_PLACEMENT_KEYSTONE_USERNAME/);
});

const problems = async () =>
  [...(await metrics.expose()).matchAll(/reason="(\w+)"\} 1$/gm)].map(([, reason]) => reason);

it('is not ready while its own credentials are refused, and ready again without a client', async () => {
  const { auth } = await openKeystoneAuth({ BERTH_PLACEMENT_KEYSTONE_PASSWORD: 'wrong' });
  expect(auth.readiness()).toEqual({ ready: false, reason: 'logging in to Keystone' });
  await expect(auth.authenticate({ 'x-auth-token': 'nova' })).rejects.toMatchObject(away);
  const refused = { ready: false, reason: 'Keystone refuses the credentials of this service' };
  expect(auth.readiness()).toEqual(refused);
  expect(await problems()).toEqual(['login_refused']);
  keystone.password = 'wrong';
  await clock.advance(10_000);
  expect(auth.readiness()).toEqual(refused);
  await keystone.answered(2);
  while (!auth.readiness().ready) await new Promise(setImmediate);
  expect(await problems()).toEqual([]);
  expect(lines.at(-1)).toBe('Keystone accepts the credentials again');
  expect(await auth.authenticate({ 'x-auth-token': 'nova' })).toMatchObject({ userId: 'u1' });
});

it('is ready while Keystone is unavailable, and shows that as a metric', async () => {
  const { auth, authenticate } = await openKeystoneAuth();
  keystone.behaviour = 'broken';
  await expect(authenticate('nova')).rejects.toMatchObject(away);
  expect(auth.readiness()).toEqual({ ready: true });
  expect(await problems()).toEqual(['keystone_unavailable']);
});

it('answers 503 when it may not ask about tokens', async () => {
  const { authenticate } = await openKeystoneAuth();
  keystone.tokens.set('nova', 403);
  await expect(authenticate('nova')).rejects.toMatchObject(away);
  expect(lines).toEqual([expect.stringContaining('needs the role service or admin')]);
  expect(await problems()).toEqual(['validation_refused']);
});

it.each(['broken', 'nonsense', 'redirect'] as const)('answers 503 while Keystone is %s', async (behaviour) => {
  const { authenticate } = await openKeystoneAuth();
  keystone.behaviour = behaviour;
  await expect(authenticate('nova')).rejects.toMatchObject(away);
  expect(keystone.calls).toEqual(['login']);
  keystone.behaviour = 'proper';
  await clock.advance(10_000);
  expect(await authenticate('nova')).toMatchObject({ userId: 'u1' });
});

it('answers 503 when Keystone says nothing in time, knows remembered tokens still, and tells the log once', async () => {
  const { authenticate } = await openKeystoneAuth();
  await authenticate('nova');
  keystone.behaviour = 'silent';
  for (const token of ['glance', 'neutron']) {
    const [outcome] = await Promise.allSettled([authenticate(token), clock.advance(5_000)]);
    expect(outcome).toMatchObject({ status: 'rejected', reason: away });
  }
  expect(await authenticate('nova')).toMatchObject({ userId: 'u1' });
  keystone.behaviour = 'proper';
  await expect(authenticate('glance')).rejects.toMatchObject({ status: 401 });
  expect(lines).toEqual([expect.stringMatching(/^Keystone unavailable/), 'Keystone available again']);
});

it('answers 503 when nobody listens', async () => {
  const { authenticate } = await openKeystoneAuth({ BERTH_PLACEMENT_KEYSTONE_URL: 'http://127.0.0.1:1' });
  await expect(authenticate('nova')).rejects.toMatchObject(away);
});

it('refuses more tokens at once than it may, but not those that are asked about already', async () => {
  const { auth, authenticate } = await openKeystoneAuth({ BERTH_PLACEMENT_KEYSTONE_MAX_VALIDATIONS: '1' });
  keystone.behaviour = 'silent';
  const waiting = Promise.allSettled([authenticate('nova'), authenticate('nova')]);
  await expect(authenticate('glance')).rejects.toMatchObject(away);
  await auth.close();
  expect(await waiting).toMatchObject([{ reason: away }, { reason: away }]);
});

it('ends what waits for Keystone when it is closed, without an alarm', async () => {
  const { auth, authenticate } = await openKeystoneAuth();
  keystone.behaviour = 'silent';
  const [outcome] = await Promise.allSettled([authenticate('nova'), auth.close()]);
  expect(outcome).toMatchObject({ status: 'rejected', reason: away });
  await expect(authenticate('nova')).rejects.toMatchObject(away);
  expect(lines).toEqual([]);
  expect(clock.pending).toBe(0);
});

function tokenOf(facts: object): object {
  return { user: { id: 'u1', name: 'someone' }, expires_at: inMs(HOUR_MS), ...facts };
}

function inMs(durationMs: number): string {
  return new Date(clock.now() + durationMs).toISOString();
}
