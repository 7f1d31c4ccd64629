import { noAuth, requireLoopback } from './noauth';

it('takes user and project from the token', async () => {
  expect(await noAuth({ 'x-auth-token': 'nova:service' })).toEqual({
    userId: 'nova',
    projectId: 'service',
    roles: new Set(),
    isSystemScoped: false,
  });
});

it('names the project as the user when the token has none', async () => {
  expect(await noAuth({ 'x-auth-token': 'nova' })).toMatchObject({ userId: 'nova', projectId: 'nova' });
  expect(await noAuth({ 'x-auth-token': 'nova:' })).toMatchObject({ userId: 'nova', projectId: 'nova' });
});

it('takes the project that a header names', async () => {
  const named = await noAuth({ 'x-auth-token': 'nova:service', 'x-project-id': 'p1' });
  expect(named).toMatchObject({ userId: 'nova', projectId: 'p1' });
});

it('gives admin to the user admin unless roles are told', async () => {
  expect((await noAuth({ 'x-auth-token': 'admin' })).roles).toEqual(new Set(['admin']));
  expect((await noAuth({ 'x-auth-token': 'admin', 'x-roles': 'reader' })).roles).toEqual(new Set(['reader']));
});

it('takes roles by comma, whatever their case', async () => {
  const { roles } = await noAuth({ 'x-auth-token': 'nova', 'x-roles': 'Service, reader,,' });
  expect(roles).toEqual(new Set(['service', 'reader']));
});

it('takes a system-scoped request as one without a project', async () => {
  const principal = await noAuth({ 'x-auth-token': 'admin:p', 'openstack-system-scope': 'all' });
  expect(principal).toMatchObject({ isSystemScoped: true, projectId: undefined });
});

it.each([[{}], [{ 'x-auth-token': '' }]])('refuses a request without a token: %j', async (headers) => {
  await expect(noAuth(headers)).rejects.toMatchObject({ status: 401 });
});

const noauth = { auth: 'noauth', noauthAnywhere: false } as const;

it.each(['127.0.0.1', '127.3.2.1', '::1', '[::1]', '::ffff:127.0.0.1', 'localhost'])(
  'lets noauth listen on %s',
  (host) => {
    expect(() => requireLoopback(host, noauth)).not.toThrow();
  },
);

it.each(['0.0.0.0', '::', '10.1.2.3', '127.evil.example', 'localhost.example', ''])('keeps noauth off %s', (host) => {
  expect(() => requireLoopback(host, noauth)).toThrow(
    expect.objectContaining({ code: 'failed_precondition', reason: 'noauth_not_local', details: { host } }),
  );
});

it('lets noauth listen anywhere when told so, and other strategies always', () => {
  expect(() => requireLoopback('0.0.0.0', { ...noauth, noauthAnywhere: true })).not.toThrow();
  expect(() => requireLoopback('0.0.0.0', { ...noauth, auth: 'keystone' })).not.toThrow();
  expect(() => requireLoopback('0.0.0.0', { ...noauth, auth: 'tokens' })).not.toThrow();
});
