import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RehearsalsPage } from './api/rehearsals';
import { argumentsOf } from './rehearsals/command-line';
import { Browse } from './testing/browse';
import { openWorld, type World } from './testing/world';

const TOKENS = [
  { token: 'token-of-the-admin', user_id: 'ann', project_id: 'ops', roles: ['admin'] },
  { token: 'token-of-the-reader', user_id: 'rob', project_id: 'ops', roles: ['reader'] },
];
const START = { action: 'start', operation: 'drain', hosts: 'host-1' };

let folder: string;
let world: World;
const started: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-console-'));
  const file = join(folder, 'tokens.json');
  writeFileSync(file, JSON.stringify(TOKENS));
  const env = { BERTH_PLACEMENT_AUTH: 'tokens', BERTH_PLACEMENT_TOKENS_FILE: file };
  world = await openWorld(env, undefined, undefined, (line) => {
    started.push(argumentsOf(line).join(' '));
    const out = JSON.stringify({ title: 'Drain host-1' });
    return { ended: Promise.resolve({ code: 0, out, err: '', isTooLong: false }), stop: () => {} };
  });
});
afterAll(async () => {
  await world.close();
  rmSync(folder, { recursive: true });
});

async function signedIn(token: string) {
  const browse = new Browse(world.url);
  const headers = { 'x-csrf-token': await browse.signIn(token) };
  return { browse, start: (body: object) => browse.ask('POST', '/api/rehearsals/actions', body, headers) };
}

it('is started by those who may act only, and its report is for all who may see', async () => {
  const reader = await signedIn('token-of-the-reader');
  expect(await reader.start(START)).toMatchObject({ status: 403, body: { reason: 'read_only' } });
  expect(started).toEqual([]);
  const admin = await signedIn('token-of-the-admin');
  expect(await admin.start({ ...START, hosts: '' })).toMatchObject({ status: 400, body: { reason: 'bad_rehearsal' } });
  expect(await admin.start(START)).toMatchObject({ status: 200 });
  expect(started).toEqual(['rehearse drain -- host-1']);
  const stream = await reader.browse.listen('/api/stream?page=rehearsals');
  const isDone = ({ rehearsals }: RehearsalsPage) => rehearsals[0]?.state === 'done';
  const { rehearsals, maxRehearsals } = await stream.until<RehearsalsPage>('page', isDone);
  stream.close();
  expect([rehearsals[0]?.userId, maxRehearsals]).toEqual(['ann', 2]);
  const report = await reader.browse.ask('GET', `/api/rehearsals/${rehearsals[0]?.id}`);
  expect(report).toMatchObject({ status: 200, body: { title: 'Drain host-1' } });
  expect(await reader.browse.ask('GET', '/api/rehearsals/none')).toMatchObject({
    status: 404,
    body: { reason: 'no_such_rehearsal' },
  });
});
