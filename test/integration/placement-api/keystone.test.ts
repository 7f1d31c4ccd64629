import type { Auth } from '#libs/auth/auth';
import { openAuth } from '#libs/auth/open';
import { authOptions } from '#libs/auth/options';
import { sleep } from '#libs/domain/clock';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock } from '#libs/runtime/system';
import { fakeClock } from '#libs/testing/fake-clock';
import { type KeystoneServer, startKeystone } from '#libs/testing/servers/keystone';
import { KeystoneAdmin, type TestUser } from '#libs/testing/servers/keystone-admin';
import { makePolicy, policyOptions } from '../../../services/placement-api/policy/policy';

let keystone: KeystoneServer;
let admin: KeystoneAdmin;
let projectId: string;
let berth: TestUser;
let users: Record<'admin' | 'service' | 'reader', TestUser>;
const opened: Auth[] = [];

beforeAll(async () => {
  keystone = await startKeystone();
  admin = await KeystoneAdmin.open(keystone);
  projectId = await admin.createProject('service');
  await admin.createRole('service');
  const userWith = async (role: string) => {
    const user = await admin.createUser(`${role}-user`);
    await admin.grant(`/projects/${projectId}`, user.id, await admin.roleId(role));
    return user;
  };
  users = { admin: await userWith('admin'), service: await userWith('service'), reader: await userWith('reader') };
  berth = await admin.createUser('placement');
  await admin.grant(`/projects/${projectId}`, berth.id, await admin.roleId('service'));
});
afterAll(() => keystone.stop());
afterEach(() => Promise.all(opened.splice(0).map((auth) => auth.close())));

async function openKeystoneAuth(env: Record<string, string> = {}, clock = systemClock()) {
  const config = readConfig(authOptions, {
    BERTH_PLACEMENT_AUTH: 'keystone',
    BERTH_PLACEMENT_KEYSTONE_URL: keystone.url,
    BERTH_PLACEMENT_KEYSTONE_USERNAME: berth.name,
    BERTH_PLACEMENT_KEYSTONE_PASSWORD: berth.password,
    BERTH_PLACEMENT_KEYSTONE_TIMEOUT_MS: '20000',
    ...env,
  });
  const auth = await openAuth(config, { clock, log: silentLog, metrics: createMetrics({}) });
  opened.push(auth);
  return (token: string) => auth.authenticate({ 'x-auth-token': token });
}

it.each([
  ['admin', ['admin', 'member', 'reader']],
  ['service', ['service']],
  ['reader', ['reader']],
] as const)('tells whom a token of the role %s stands for, implied roles included', async (role, roles) => {
  const authenticate = await openKeystoneAuth();
  const token = await admin.issueToken(users[role], { project: { id: projectId } });
  expect(await authenticate(token)).toMatchObject({ userId: users[role].id, projectId, isSystemScoped: false });
  expect([...(await authenticate(token)).roles].filter((name) => name !== 'manager').sort()).toEqual(roles);
});

it('knows a token for the whole system, which the policy refuses', async () => {
  const authenticate = await openKeystoneAuth();
  await admin.grant('/system', users.admin.id, await admin.roleId('admin'));
  const principal = await authenticate(await admin.issueToken(users.admin, { system: { all: true } }));
  expect(principal).toMatchObject({ isSystemScoped: true, projectId: undefined });
  expect(principal.roles.has('admin')).toBe(true);
  expect(() => makePolicy(readConfig(policyOptions, {}))('traits:list', principal)).toThrow(
    expect.objectContaining({ status: 403 }),
  );
});

it('gives no roles to tokens for a domain or for nothing', async () => {
  const authenticate = await openKeystoneAuth();
  await admin.grant('/domains/default', users.admin.id, await admin.roleId('admin'));
  const tokens = [await admin.issueToken(users.admin, { domain: { id: 'default' } }), await admin.issueToken(berth)];
  for (const token of tokens) {
    expect(await authenticate(token)).toMatchObject({ roles: new Set(), projectId: undefined, isSystemScoped: false });
  }
});

it('refuses a token that was revoked: at once when nothing is remembered, else when it is forgotten', async () => {
  const clock = fakeClock(systemClock().now());
  const forgetful = await openKeystoneAuth({ BERTH_PLACEMENT_KEYSTONE_CACHE_MS: '0' });
  const remembering = await openKeystoneAuth({ BERTH_PLACEMENT_KEYSTONE_CACHE_MS: '60000' }, clock);
  const token = await admin.issueToken(users.reader, { project: { id: projectId } });
  await Promise.all([forgetful(token), remembering(token)]);
  await admin.revoke(token);
  await expect(forgetful(token)).rejects.toMatchObject({ status: 401 });
  expect(await remembering(token)).toMatchObject({ userId: users.reader.id });
  await clock.advance(60_000);
  await expect(remembering(token)).rejects.toMatchObject({ status: 401 });
});

it.each([
  ['a word', 'nonsense'],
  ['half a token', 'gAAAAABnonsense'],
  ['something long', 'x'.repeat(2_000)],
])('refuses %s instead of a token', async (_what, token) => {
  const authenticate = await openKeystoneAuth();
  const headers = { 'www-authenticate': `Keystone uri="${keystone.url}"` };
  await expect(authenticate(token)).rejects.toMatchObject({ status: 401, headers });
});

it('refuses a token that is restricted to other services', async () => {
  const authenticate = await openKeystoneAuth();
  const token = await admin.issueToken(users.admin, { project: { id: projectId } });
  const restricted = await admin.issueRestrictedToken(users.admin, token);
  await expect(authenticate(restricted)).rejects.toMatchObject({ status: 401 });
});

it('asks with a user that has the role admin as well, and not with one that has neither', async () => {
  const as = ({ name, password }: TestUser) =>
    openKeystoneAuth({ BERTH_PLACEMENT_KEYSTONE_USERNAME: name, BERTH_PLACEMENT_KEYSTONE_PASSWORD: password });
  const token = await admin.issueToken(users.service, { project: { id: projectId } });
  expect(await (await as(users.admin))(token)).toMatchObject({ userId: users.service.id });
  await expect((await as(users.reader))(token)).rejects.toMatchObject({ status: 503 });
  await expect((await as({ ...berth, password: 'wrong' }))(token)).rejects.toMatchObject({ status: 503 });
});

it('logs in again when its own token was revoked', async () => {
  const authenticate = await openKeystoneAuth({ BERTH_PLACEMENT_KEYSTONE_CACHE_MS: '0' });
  const token = await admin.issueToken(users.reader, { project: { id: projectId } });
  await authenticate(token);
  await admin.revokeAll(berth.id);
  // Keystone's revocations have a resolution of seconds.
  await sleep(systemClock(), 1_100);
  expect(await authenticate(token)).toMatchObject({ userId: users.reader.id });
});

it('answers 503 while Keystone is down, and goes on when it is up', async () => {
  const authenticate = await openKeystoneAuth({ BERTH_PLACEMENT_KEYSTONE_CACHE_MS: '0' });
  const token = await admin.issueToken(users.reader, { project: { id: projectId } });
  await authenticate(token);
  await keystone.kill('SIGKILL');
  await expect(authenticate(token)).rejects.toMatchObject({ status: 503 });
  await keystone.restart();
  expect(await authenticate(token)).toMatchObject({ userId: users.reader.id });
});
