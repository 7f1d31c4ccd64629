import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { fakeClock } from '#libs/testing/fake-clock';
import { openAuth } from './open';
import { authOptions } from './options';

const open = (env: Record<string, string>) =>
  openAuth(readConfig(authOptions, env), { clock: fakeClock(), log: silentLog, metrics: createMetrics({}) });

it('is noauth without a word', async () => {
  const auth = await open({});
  expect(await auth.authenticate({ 'x-auth-token': 'admin' })).toMatchObject({ userId: 'admin' });
  await auth.close();
});

it.each([
  [{ BERTH_PLACEMENT_AUTH: 'tokens' }, ['BERTH_PLACEMENT_TOKENS_FILE is not set']],
  [
    { BERTH_PLACEMENT_AUTH: 'keystone' },
    ['BERTH_PLACEMENT_KEYSTONE_URL is not set', 'BERTH_PLACEMENT_KEYSTONE_PASSWORD is not set'],
  ],
  ...['http://user:pass@keystone', 'http://keystone?x=y', 'http://keystone:port'].map((url) => [
    { BERTH_PLACEMENT_AUTH: 'keystone', BERTH_PLACEMENT_KEYSTONE_URL: url, BERTH_PLACEMENT_KEYSTONE_PASSWORD: 'p' },
    ['BERTH_PLACEMENT_KEYSTONE_URL must be a plain URL'],
  ]),
] as [Record<string, string>, string[]][])('tells everything that %j lacks', async (env, problems) => {
  await expect(open(env)).rejects.toMatchObject({
    code: 'invalid_argument',
    reason: 'bad_config',
    message: `BERTH_PLACEMENT_AUTH=${env['BERTH_PLACEMENT_AUTH']} is not configured:\n  ${problems.join('\n  ')}`,
  });
});
