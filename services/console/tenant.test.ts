import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { anInstance } from '#libs/testing/instances/instance';
import { aReport, aWrite, claim, mustReport } from '#libs/testing/placement/placement';
import { openWorld, type World } from './testing/world';

/* Tokens that are no operators' ask every route of the console, and every byte that comes back is searched for what is others'. */

const PLANTED = 'planted-';
const instance = anInstance({ name: `${PLANTED}name`, projectId: `${PLANTED}project`, host: `${PLANTED}host` });
const { uuid } = instance;
const TOKENS = [
  { token: 'token-of-a-member', user_id: 'eve', project_id: 'curious', roles: ['member'] },
  { token: 'token-of-a-reader', user_id: 'eve', project_id: 'curious', roles: ['reader', 'member'] },
  { token: 'token-of-an-auditor', user_id: 'ann', project_id: 'ops', roles: ['auditor'] },
];

let folder: string;
let world: World;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-console-'));
  const file = join(folder, 'tokens.json');
  writeFileSync(file, JSON.stringify(TOKENS));
  // Tenants have the role `reader` here.
  const roles = { BERTH_CONSOLE_READ_ROLES: 'auditor' };
  world = await openWorld({ BERTH_PLACEMENT_AUTH: 'tokens', BERTH_PLACEMENT_TOKENS_FILE: file, ...roles });
  await mustReport(world.placement, aReport({ host: `${PLANTED}host` }));
  const { providerUuid } = aReport();
  await claim(world.placement, { ...aWrite({ [providerUuid]: { VCPU: 1 } }), uuid, projectId: `${PLANTED}project` });
  await world.instances.create(instance.requestId, [instance]);
});
afterAll(async () => {
  await world.close();
  rmSync(folder, { recursive: true });
});

const pages = ['', 'fleet', 'host', 'instance', 'builds', 'capacity', 'guarantees', 'reservations', 'nonsense'];
const ROUTES: readonly (readonly [method: string, path: string])[] = [
  ['GET', '/api/session'],
  ...pages.flatMap((page) =>
    [`${PLANTED}host`, uuid].map((name) => ['GET', `/api/stream?page=${page}&name=${name}`] as const),
  ),
  ['GET', `/api/search?q=${PLANTED}`],
  ['GET', '/api/flavors'],
  ['GET', '/api/explain?resources=VCPU:1&priority=10&preempt=true'],
  ['GET', '/api/dead-letters'],
  ['GET', '/fleet'],
  ['POST', `/api/hosts/${PLANTED}host/actions`],
  ['POST', `/api/instances/${uuid}/actions`],
  ['POST', '/api/dead-letters/actions'],
  ['POST', '/api/session'],
];

const isLeak = (path: string, text: string) => [PLANTED, uuid].some((one) => !path.includes(one) && text.includes(one));

/** The answer to a token: whole, or, for a stream, up to the first thing that it must not see. */
async function told(token: string, method: string, path: string): Promise<{ status: number; text: string }> {
  const isPost = method === 'POST';
  const body = JSON.stringify(path.endsWith('session') ? { token } : { action: 'disable', reason: 'x', target: uuid });
  const response = await fetch(world.url + path, {
    method,
    headers: { cookie: `berth_token=${token}`, ...(isPost ? { 'content-type': 'application/json' } : {}) },
    body: isPost ? body : null,
  });
  let text = JSON.stringify([...response.headers]);
  const decoder = new TextDecoder();
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk);
    if (isLeak(path, text)) break;
  }
  return { status: response.status, text };
}

it('finds it all where a token may read, so that the search can fail', async () => {
  const { status, text } = await told('token-of-an-auditor', 'GET', '/api/stream?page=fleet');
  expect([status, text.includes(`${PLANTED}host`)]).toEqual([200, true]);
});

it.each(['token-of-a-member', 'token-of-a-reader', 'no token at all'])('tells nothing to %s', async (token) => {
  const said = await Promise.all(
    ROUTES.map(async ([method, path]) => ({ path, ...(await told(token, method, path)) })),
  );
  expect(said.filter(({ path, text }) => isLeak(path, text))).toEqual([]);
  expect(said.filter(({ status }) => status < 400).map(({ path }) => path)).toEqual(['/fleet']);
});
