import { requireLoopback } from './require-loopback';

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
