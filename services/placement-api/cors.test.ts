import Fastify, { type FastifyInstance } from 'fastify';
import { readConfig } from '#libs/runtime/config';
import { registerCors } from './cors';
import { corsOptions } from './cors-options';

const VALID = 'http://valid.example.com';
const preflight = { origin: VALID, 'access-control-request-method': 'GET' };
const apps: FastifyInstance[] = [];
afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

/** An app that refuses requests without a token, with one route. */
async function openApp(env: Record<string, string> = { BERTH_PLACEMENT_CORS_ALLOWED_ORIGIN: VALID }) {
  const app = Fastify();
  apps.push(app);
  registerCors(app, readConfig(corsOptions, env));
  app.addHook('onRequest', async (request, reply) => {
    if (request.headers['x-auth-token'] === undefined) return reply.code(401).send({ error: 'no token' });
  });
  app.setNotFoundHandler(async (_request, reply) => reply.code(404).send({ error: 'no such thing' }));
  app.get('/things', async (_request, reply) => reply.header('vary', 'openstack-api-version').send([]));
  app.get('/broken', async () => {
    throw new Error('broken');
  });
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  return (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`${address}${path}`, { method, headers });
}

it.each(['/things', '/', '/no/such/thing'])('answers a preflight of %s without a token', async (path) => {
  const send = await openApp();
  const asked = { ...preflight, 'access-control-request-headers': 'openstack-api-version, Content-Type' };
  const response = await send(path, asked, 'OPTIONS');
  expect(response.status).toBe(200);
  expect(await response.text()).toBe('');
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'access-control-allow-origin': VALID,
    'access-control-allow-methods': 'GET',
    'access-control-allow-headers': 'openstack-api-version,Content-Type',
    'access-control-allow-credentials': 'true',
    'access-control-max-age': '3600',
    vary: 'Origin',
  });
  expect(response.headers.has('content-type')).toBe(false);
});

it.each([
  ['another origin', { ...preflight, origin: 'http://invalid.example.com' }],
  ['no origin', { 'access-control-request-method': 'GET' }],
  ['no method', { origin: VALID }],
  ['a method that is not allowed', { ...preflight, 'access-control-request-method': 'TRACE' }],
  ['a header that is not allowed', { ...preflight, 'access-control-request-headers': 'content-type,x-evil' }],
])('answers a preflight with %s without any CORS header', async (_what, headers) => {
  const send = await openApp();
  const response = await send('/things', headers, 'OPTIONS');
  expect(response.status).toBe(200);
  expect(corsHeaders(response)).toEqual([]);
});

it.each([
  ['/things', { 'x-auth-token': 'me' }, 200],
  ['/things', {}, 401],
  ['/nothing', { 'x-auth-token': 'me' }, 404],
  ['/broken', { 'x-auth-token': 'me' }, 500],
])('tells the origin that it may read the answer of %s with %j: %i', async (path, headers, status) => {
  const send = await openApp();
  const response = await send(path, { ...headers, origin: VALID });
  expect(response.status).toBe(status);
  expect(response.headers.get('access-control-allow-origin')).toBe(VALID);
  expect(response.headers.get('access-control-expose-headers')).toContain('X-Openstack-Request-Id');
  expect(response.headers.get('vary')).toMatch(/Origin$/);
});

it('adds to what the answer varies by already', async () => {
  const send = await openApp();
  const response = await send('/things', { 'x-auth-token': 'me', origin: VALID });
  expect(response.headers.get('vary')).toBe('openstack-api-version,Origin');
});

it.each([{ origin: 'http://invalid.example.com' }, {}])('says nothing to %j', async (headers) => {
  const send = await openApp();
  const response = await send('/things', { 'x-auth-token': 'me', ...headers });
  expect(response.status).toBe(200);
  expect(corsHeaders(response)).toEqual([]);
  expect(response.headers.get('vary')).toBe('openstack-api-version');
});

it('takes several origins, headers and methods, and * for all origins', async () => {
  const send = await openApp({
    BERTH_PLACEMENT_CORS_ALLOWED_ORIGIN: 'http://other.example.com,*',
    BERTH_PLACEMENT_CORS_ALLOW_HEADERS: 'X-Mine',
    BERTH_PLACEMENT_CORS_ALLOW_METHODS: 'TRACE',
    BERTH_PLACEMENT_CORS_MAX_AGE: '0',
    BERTH_PLACEMENT_CORS_ALLOW_CREDENTIALS: 'false',
  });
  const asked = { 'access-control-request-method': 'TRACE', 'access-control-request-headers': 'x-mine' };
  const one = await send('/things', { ...asked, origin: 'http://other.example.com' }, 'OPTIONS');
  expect(one.headers.get('access-control-allow-origin')).toBe('http://other.example.com');
  expect(one.headers.get('access-control-allow-headers')).toBe('x-mine');
  const any = await send('/things', { ...asked, origin: 'http://any.example.com' }, 'OPTIONS');
  expect(any.headers.get('access-control-allow-origin')).toBe('*');
  expect(any.headers.has('access-control-max-age')).toBe(false);
  expect(any.headers.has('access-control-allow-credentials')).toBe(false);
});

it('leaves OPTIONS to the app when no origin is allowed', async () => {
  const send = await openApp({});
  const response = await send('/things', preflight, 'OPTIONS');
  expect(response.status).toBe(401);
  expect(corsHeaders(response)).toEqual([]);
});

function corsHeaders(response: Response): string[] {
  return [...response.headers.keys()].filter((name) => name.startsWith('access-control-'));
}
