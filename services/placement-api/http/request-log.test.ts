import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { silentLog } from '#libs/runtime/log';
import { type Api, openApi } from '../testing/api';

const lines: object[] = [];
let api: Api;
beforeEach(async () => {
  lines.length = 0;
  const info = (fields: object, message: string) => void (message === 'request answered' && lines.push(fields));
  const env = { BERTH_PLACEMENT_PATH_PREFIX: '/placement' };
  api = await openApi(new MemoryPlacementStore(), env, { ...silentLog, info });
});
afterEach(() => api.close());

/** The log's line of the last answer, which is written just after it. */
async function lastLine(): Promise<object> {
  while (lines.length === 0) await new Promise(setImmediate);
  return lines.pop() ?? {};
}

const GLOBAL = 'req-0a1b2c3d-0000-4000-8000-00000000abcd';

it("logs a request as Placement's request log does, with the client's global request id", async () => {
  const headers = { 'x-openstack-request-id': GLOBAL };
  const answered = await api.get('/placement/resource_providers?name=x', {
    version: 26,
    as: 'nova:p1',
    headers,
    roles: 'admin',
  });
  expect(answered.headers['x-openstack-request-id']).toMatch(/^req-[0-9a-f-]{36}$/);
  expect(answered.headers['x-openstack-request-id']).not.toBe(GLOBAL);
  expect(await lastLine()).toEqual({
    event: 'request_answered',
    request_id: answered.headers['x-openstack-request-id'],
    global_request_id: GLOBAL,
    remote_address: '127.0.0.1',
    method: 'GET',
    url: '/placement/resource_providers?name=x',
    status: 200,
    length: answered.text.length,
    microversion: '1.26',
    user_id: 'nova',
    project_id: 'p1',
    elapsed_ms: expect.any(Number),
  });
});

it.each(['req-1', 'nonsense', `${GLOBAL}\tx`, GLOBAL.toUpperCase(), 'a'.repeat(5_000)])(
  'ignores "%.50s" as a global request id',
  async (text) => {
    const { status } = await api.get('/resource_providers', { headers: { 'x-openstack-request-id': text } });
    expect(status).toBe(200);
    expect(await lastLine()).not.toHaveProperty('global_request_id');
  },
);

it.each([
  ['/nowhere', { as: null }, { status: 401, microversion: undefined, user_id: undefined }],
  ['/nowhere', {}, { status: 404, microversion: '1.39', user_id: 'admin' }],
  ['/resource_providers', { version: '9.9' }, { status: 406, microversion: undefined, user_id: 'admin' }],
])('logs refusals, too: %s %j', async (path, asking, line) => {
  await api.get(path, asking);
  expect(await lastLine()).toMatchObject(line);
});

it('shortens a long URL', async () => {
  await api.get(`/resource_providers?name=${'x'.repeat(5_000)}`);
  expect((await lastLine()) as { url: string }).toMatchObject({ url: expect.stringMatching(/^.{2048}\.\.\.$/) });
});
