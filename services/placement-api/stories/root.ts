import { errorOf } from '../testing/state';
import type { Story } from '../testing/story';

/** The version document and microversion negotiation. */
export function rootStories(story: Story): void {
  story('tells its versions to whoever asks, without a token', async (api) => {
    const { status, headers, body } = await api.get('/', { as: null, version: null });
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('application/json');
    expect(body).toEqual({
      versions: [
        {
          id: 'v1.0',
          min_version: '1.0',
          max_version: '1.39',
          status: 'CURRENT',
          links: [{ rel: 'self', href: '' }],
        },
      ],
    });
  });

  story('serves its OpenAPI document without a token', async (api) => {
    const { status, headers, body } = await api.get('/openapi.json', { as: null, version: null });
    expect(status).toBe(200);
    expect(headers['content-type']).toMatch(/^application\/json/);
    const { openapi, paths } = body as { openapi: string; paths: Record<string, Record<string, unknown>> };
    expect(openapi).toMatch(/^3\.1/);
    expect(Object.keys(paths).filter((path) => !path.startsWith('/berth/'))).toHaveLength(18);
    expect(Object.keys(paths)).toContain('/berth/instances');
    expect(Object.keys(paths['/resource_providers/{uuid}'] ?? {}).toSorted()).toEqual(['delete', 'get', 'put']);
  });

  story('takes a request without a version as the oldest, and says which one it answered', async (api) => {
    const { headers } = await api.get('/resource_providers', { version: null });
    expect(headers['openstack-api-version']).toBe('placement 1.0');
    expect(headers['vary']).toMatch(/openstack-api-version/i);
  });

  story('takes latest as the newest it has', async (api) => {
    const { status, headers } = await api.get('/resource_providers', { version: 'latest' });
    expect([status, headers['openstack-api-version']]).toEqual([200, 'placement 1.39']);
  });

  for (const [header, served] of [
    ['placement 1.7', '1.7'],
    ['compute 2.90, placement 1.12, volume latest', '1.12'],
    ['placement 1.3, placement 1.9', '1.9'],
    ['compute 2.90', '1.0'],
    ['compute latest', '1.0'],
    ['PLACEMENT 1.20', '1.20'],
  ]) {
    story(`reads "${header}" as ${served}`, async (api) => {
      const { status, headers } = await api.get('/resource_providers', {
        headers: { 'openstack-api-version': header ?? '' },
      });
      expect([status, headers['openstack-api-version']]).toEqual([200, `placement ${served}`]);
    });
  }

  for (const version of ['1.40', '1.999', '0.9', '2.0']) {
    story(`refuses version ${version} and tells which ones it has`, async (api) => {
      const answered = await api.get('/resource_providers', { version });
      expect(errorOf(answered)).toMatchObject({
        status: 406,
        title: 'Not Acceptable',
        min_version: '1.0',
        max_version: '1.39',
      });
      expect(errorOf(answered).detail).toContain(`Unacceptable version header: ${version}`);
    });
  }

  for (const version of ['1', '1.x', 'one.ten', '1.2.3', 'newest']) {
    story(`finds "${version}" to be no version at all`, async (api) => {
      const answered = await api.get('/resource_providers', { version });
      expect(answered.status).toBe(400);
      expect(errorOf(answered).detail).toContain('invalid version string');
    });
  }

  story('asks for a token before it looks at the version', async (api) => {
    expect((await api.get('/resource_providers', { as: null, version: '9.9' })).status).toBe(401);
  });

  story('tells no cache headers before 1.15, and a time of change with no-cache since', async (api) => {
    const before = await api.get('/resource_providers', { version: 14 });
    expect(before.headers).not.toHaveProperty('last-modified');
    expect(before.headers).not.toHaveProperty('cache-control');
    const since = await api.get('/resource_providers', { version: 15 });
    expect(since.headers['cache-control']).toBe('no-cache');
    expect(since.headers['last-modified']).toBe(new Date(api.clock.now()).toUTCString());
  });

  story('tells when a provider was changed last', async (api) => {
    const uuid = api.uuid();
    await api.post('/resource_providers', { uuid, name: 'old' });
    const createdAt = new Date(api.clock.now()).toUTCString();
    await api.clock.advance(90_000);
    expect((await api.get(`/resource_providers/${uuid}`)).headers['last-modified']).toBe(createdAt);
    expect((await api.get('/resource_providers')).headers['last-modified']).toBe(createdAt);
  });

  story('leaves OPTIONS alone and sends no CORS header while no origin is allowed', async (api) => {
    const headers = { origin: 'http://page.example.com', 'access-control-request-method': 'GET' };
    const preflight = await api.send('OPTIONS', '/resource_providers', undefined, { headers });
    expect(preflight.status).toBe(405);
    const read = await api.get('/resource_providers', { headers });
    expect(read.status).toBe(200);
    for (const answered of [preflight, read]) {
      expect(Object.keys(answered.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  });

  story(
    'answers a preflight of a page whose origin is allowed, without a token',
    async (api) => {
      const headers = { origin: 'http://page.example.com', 'access-control-request-method': 'GET' };
      const preflight = await api.send('OPTIONS', '/resource_providers', undefined, { headers, as: null });
      expect(preflight.status).toBe(200);
      expect(preflight.headers['access-control-allow-origin']).toBe('http://page.example.com');
    },
    { BERTH_PLACEMENT_CORS_ALLOWED_ORIGIN: 'http://page.example.com' },
  );
}
