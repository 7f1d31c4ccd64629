import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { openApi } from '../testing/api';

const GOOD = 'a-long-random-token';
const folder = mkdtempSync(join(tmpdir(), 'berth-guesses-'));
afterAll(() => rmSync(folder, { recursive: true }));

it('answers whoever tries tokens 429 after a while, as an error document, and a known client as ever', async () => {
  const file = join(folder, 'tokens.json');
  writeFileSync(file, JSON.stringify([{ token: GOOD, user_id: 'nova', project_id: 'service', roles: ['admin'] }]));
  const env = { BERTH_PLACEMENT_AUTH: 'tokens', BERTH_PLACEMENT_TOKENS_FILE: file };
  const api = await openApi(new MemoryPlacementStore(), env);
  const ask = async (token: string) => {
    const answer = await fetch(`${api.url}/resource_providers`, { headers: { 'x-auth-token': token } });
    return { status: answer.status, waitS: Number(answer.headers.get('retry-after')), body: await answer.json() };
  };
  expect((await ask(GOOD)).status).toBe(200);
  for (let n = 0; n < 20; n++) expect((await ask(`guess-${n}`)).status).toBe(401);
  const refused = await ask('guess');
  expect([refused.status, refused.waitS > 0]).toEqual([429, true]);
  expect(refused.body).toMatchObject({ errors: [{ status: 429, title: 'Too Many Requests' }] });
  expect((await ask(GOOD)).status).toBe(200);
  await api.close();
});
