import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '#libs/runtime/log';
import { fakeClock } from '#libs/testing/fake-clock';
import { openStaticTokens } from './static-tokens';
import { sha256Of } from './token-file';

const nova = { token: 'nova-secret-of-16-and-more', user_id: 'nova', project_id: 'service', roles: ['Service'] };
const eve = { token_sha256: sha256Of('eve-secret').toString('hex').toUpperCase(), user_id: 'eve', roles: [] };

const folder = mkdtempSync(join(tmpdir(), 'berth-tokens-'));
const path = join(folder, 'tokens.json');
afterAll(() => rmSync(folder, { recursive: true }));

const write = (content: unknown) =>
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));

async function openTokens(content: unknown = [nova, eve]) {
  write(content);
  const clock = fakeClock();
  const lines: string[] = [];
  const note = (_fields: object, message: string) => void lines.push(message);
  const log = { ...silentLog, info: note, error: note };
  const authenticate = await openStaticTokens(path, { checkMs: 1_000, clock, log });
  return { clock, lines, authenticate: (token: string) => authenticate({ 'x-auth-token': token }) };
}

it('knows tokens by themselves and by their hash', async () => {
  const { authenticate } = await openTokens();
  expect(await authenticate('nova-secret-of-16-and-more')).toEqual({
    userId: 'nova',
    projectId: 'service',
    roles: new Set(['service']),
    isSystemScoped: false,
  });
  expect(await authenticate('eve-secret')).toMatchObject({ userId: 'eve', projectId: undefined, roles: new Set() });
});

it.each(['', 'nova', 'nova-secret-of-16-and-more2', eve.token_sha256])("refuses the token '%s'", async (token) => {
  const { authenticate } = await openTokens();
  await expect(authenticate(token)).rejects.toMatchObject({ status: 401 });
});

it('sees a change of the file after the check interval, whoever asks at once', async () => {
  const { authenticate, clock, lines } = await openTokens();
  write([{ ...nova, token: 'renewed-of-16-and-more' }]);
  expect(await authenticate('nova-secret-of-16-and-more')).toMatchObject({ userId: 'nova' });
  await clock.advance(1_000);
  const asked = await Promise.allSettled(
    ['nova-secret-of-16-and-more', 'renewed-of-16-and-more', 'nova-secret-of-16-and-more'].map(authenticate),
  );
  expect(asked.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected']);
  expect(lines).toEqual(['token file changed and read']);
});

it('sees a file that another one is renamed to', async () => {
  const { authenticate, clock } = await openTokens();
  writeFileSync(`${path}.new`, JSON.stringify([{ ...nova, token: 'nova-public-of-16-and-more' }]));
  renameSync(`${path}.new`, path);
  await clock.advance(1_000);
  expect(await authenticate('nova-public-of-16-and-more')).toMatchObject({ userId: 'nova' });
});

it('keeps the old tokens while the file is broken or gone, says so once each, and takes it up when it is good', async () => {
  const { authenticate, clock, lines } = await openTokens();
  write('[{"token": "half');
  for (let look = 0; look < 3; look++) {
    await clock.advance(1_000);
    expect(await authenticate('nova-secret-of-16-and-more')).toMatchObject({ userId: 'nova' });
  }
  rmSync(path);
  await clock.advance(1_000);
  expect(await authenticate('nova-secret-of-16-and-more')).toMatchObject({ userId: 'nova' });
  write([eve]);
  await clock.advance(1_000);
  await expect(authenticate('nova-secret-of-16-and-more')).rejects.toMatchObject({ status: 401 });
  expect(lines).toEqual([
    expect.stringMatching(/keeping the old tokens.*is not JSON$/),
    expect.stringMatching(/keeping the old tokens.*ENOENT/),
    'token file changed and read',
  ]);
  expect(lines.join()).not.toContain('half');
});

it.each([
  ['{}', undefined, 'must be a list'],
  ['nonsense', undefined, 'is not JSON'],
  [Array.from({ length: 1_001 }, () => nova), undefined, 'at most 1000'],
  [['nova'], '[0]', 'must be an object'],
  [[nova, { ...nova, token: 'b-of-16-letters-or-more', user_id: '' }], '[1].user_id', 'must be a text'],
  [[{ ...nova, project_id: 7 }], '[0].project_id', 'must be a text'],
  [[{ ...nova, project: 'p' }], '[0].project', 'is not a field'],
  [[{ ...nova, roles: 'admin' }], '[0].roles', 'must be a list of names'],
  [[{ ...nova, roles: undefined }], '[0].roles', 'must be a list of names'],
  [[{ ...nova, token: undefined }], '[0]', 'needs either token or token_sha256'],
  [[{ ...nova, ...eve }], '[0]', 'needs either token or token_sha256'],
  [[{ ...nova, token: 'with space' }], '[0].token', 'visible ASCII'],
  [[{ ...eve, token_sha256: 'abc' }], '[0].token_sha256', '64 hexadecimal digits'],
  [[nova, eve, nova], '[2]', 'has the token of another entry'],
])('refuses to start on %j', async (content, field, message) => {
  await expect(openTokens(content)).rejects.toMatchObject({
    code: 'invalid_argument',
    reason: 'bad_tokens_file',
    message: expect.stringContaining(message),
    details: field === undefined ? {} : { field },
  });
});

it('refuses to start without the file', async () => {
  const open = openStaticTokens(join(folder, 'none.json'), { checkMs: 0, clock: fakeClock(), log: silentLog });
  await expect(open).rejects.toMatchObject({ code: 'invalid_argument', message: expect.stringContaining('ENOENT') });
});
