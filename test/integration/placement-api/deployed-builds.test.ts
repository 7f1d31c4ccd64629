import { urlIn } from '#libs/testing/servers/child';
import { type Composition, startComposition } from '../deploy/composition';

/* The placement API of deploy/docker-compose.yml, with the settings, user and rights that the file gives it, builds. */

jest.setTimeout(120_000);

let composition: Composition;
let url: string;

beforeAll(async () => {
  composition = await startComposition();
  await Promise.all(['scheduler', 'conductor'].map((name) => composition.run(name)));
  const [api] = await Promise.all([
    composition.run('placement-api', { BERTH_PLACEMENT_PORT: '0', BERTH_PLACEMENT_HOST: '127.0.0.1' }),
    composition.run('compute-agent-1'),
  ]);
  url = urlIn(api, 'api_listening');
});
afterAll(() => composition.stop());

async function ask(method: string, path: string, body?: object) {
  const headers = {
    'x-auth-token': 'placement-token-for-trying',
    ...(body && { 'content-type': 'application/json', 'idempotency-key': 'order-17' }),
  };
  const answer = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

it('builds an instance once, and tells its events', async () => {
  const events = await fetch(`${url}/berth/events?state=ACTIVE`, {
    headers: { 'x-auth-token': 'placement-token-for-trying' },
  });
  const wanted = { name: 'web', project_id: 'demo', resources: { VCPU: 1 }, extra_specs: {} };
  const asked = await ask('POST', '/berth/instances', wanted);
  expect(asked).toMatchObject({ status: 202, body: { is_on_record: true } });
  const [{ uuid }] = asked.body['instances'] as [{ uuid: string }];
  expect(await ask('GET', `/berth/instances/${uuid}?wait_for=ACTIVE,ERROR`)).toMatchObject({
    status: 200,
    body: { state: 'ACTIVE', host: 'host-1' },
  });
  expect(await ask('POST', '/berth/instances', wanted)).toEqual(asked);
  let heard = '';
  for await (const chunk of events.body ?? []) {
    heard += Buffer.from(chunk).toString();
    if (heard.includes(uuid)) break;
  }
  expect(heard).toContain('"state":"ACTIVE"');
});
