import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { type Api, openApi } from '../testing/api';

let api: Api;
const open = async (env: Readonly<Record<string, string>>) => {
  api = await openApi(new MemoryPlacementStore(), env);
};
afterEach(() => api.close());

describe('with the path prefix /placement', () => {
  beforeEach(() => open({ BERTH_PLACEMENT_PATH_PREFIX: '/placement' }));

  it.each(['/placement', '/placement/', '/placement?x=1', '/placement//', '/'])(
    'tells its versions at %s without a token',
    async (path) => {
      const { status, body } = await api.get(path, { as: null });
      expect(status).toBe(200);
      expect(body).toMatchObject({ versions: [{ id: 'v1.0', links: [{ rel: 'self', href: '' }] }] });
    },
  );

  it.each(['/placement', ''])('gives links and locations below the prefix, asked at "%s"', async (before) => {
    const uuid = api.uuid();
    const made = await api.post(`${before}/resource_providers`, { uuid, name: uuid });
    const self = `/placement/resource_providers/${uuid}`;
    expect(made.headers['location']).toBe(api.url + self);
    expect(made.body).toMatchObject({
      links: [{ rel: 'self', href: self }, { href: `${self}/inventories` }, {}, {}, {}, {}],
    });
    const link = await api.get(self);
    expect(link.body).toEqual(made.body);
    const { body } = await api.get(`${before}/resource_classes/VCPU`);
    expect(body).toMatchObject({ links: [{ rel: 'self', href: '/placement/resource_classes/VCPU' }] });
  });

  it.each(['/placementX/resource_providers', '/placement/placement/resource_providers', '/other'])(
    'does not know %s',
    async (path) => {
      expect((await api.get(path)).status).toBe(404);
    },
  );

  it('names the prefix as the server of its OpenAPI document', async () => {
    expect((await api.get('/placement/openapi.json')).body).toMatchObject({ servers: [{ url: '/placement' }] });
  });
});

const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'cloud.example.com' };

it('believes the headers of a trusted proxy', async () => {
  await open({ BERTH_PLACEMENT_PATH_PREFIX: '/placement', BERTH_PLACEMENT_TRUSTED_PROXIES: '127.0.0.0/8' });
  const uuid = api.uuid();
  const made = await api.post('/resource_providers', { uuid, name: uuid }, { headers: forwarded });
  expect(made.headers['location']).toBe(`https://cloud.example.com/placement/resource_providers/${uuid}`);
});

it('ignores those headers from anybody else', async () => {
  await open({ BERTH_PLACEMENT_TRUSTED_PROXIES: '10.0.0.0/8,::1' });
  const uuid = api.uuid();
  const made = await api.post('/resource_providers', { uuid, name: uuid }, { headers: forwarded });
  expect(made.headers['location']).toBe(`${api.url}/resource_providers/${uuid}`);
});
