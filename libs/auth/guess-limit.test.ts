import { type FastifyInstance, fastify } from 'fastify';
import { AuthError } from './auth-error';
import { limitGuesses } from './guess-limit';

const GOOD = 'a-token-that-is-good';
const HOME = '192.0.2.1';

let app: FastifyInstance;
let url: string;

beforeEach(async () => {
  app = fastify({ trustProxy: true });
  const authenticate = await limitGuesses(app, async (headers) => {
    if (headers['x-auth-token'] !== GOOD) throw new AuthError(401, 'unknown');
    return { userId: 'ann', projectId: 'demo', roles: new Set<string>(), isSystemScoped: false };
  });
  app.setErrorHandler((thrown: AuthError, _request, reply) => reply.code(thrown.status).headers(thrown.headers).send());
  app.get('/', (request) => authenticate(request, request.headers));
  url = await app.listen({ port: 0 });
});
afterEach(() => app.close());

async function ask(address: string, token?: string) {
  const headers = { 'x-forwarded-for': address, ...(token === undefined ? {} : { 'x-auth-token': token }) };
  return fetch(url, { headers });
}

async function guesses(count: number, address: (n: number) => string): Promise<number[]> {
  const statuses = [];
  for (let n = 0; n < count; n++) statuses.push((await ask(address(n), `guess-${n}`)).status);
  return statuses;
}

const SLOWED = [...Array<number>(20).fill(401), 429];

it('lets an address guess so often, others as often, and what was good always', async () => {
  expect((await ask(HOME, GOOD)).status).toBe(200);
  expect(await guesses(21, () => HOME)).toEqual(SLOWED);
  const refused = await ask(HOME, 'guess');
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await ask(HOME, GOOD)).status).toBe(200);
  expect((await ask('192.0.2.2', 'guess')).status).toBe(401);
});

it('looks at no token of an address that waits, a good one that is new neither', async () => {
  await guesses(20, () => HOME);
  expect((await ask(HOME, GOOD)).status).toBe(429);
});

it('counts a /64 of IPv6 as one address, and one of IPv4 however it is written', async () => {
  expect(await guesses(21, (n) => `2001:db8:0:1:${n}::7`)).toEqual(SLOWED);
  expect((await ask('2001:db8:0:2::1', 'guess')).status).toBe(401);
  expect(await guesses(21, (n) => (n % 2 === 0 ? HOME : `::ffff:${HOME}`))).toEqual(SLOWED);
});

it('counts no request without a token', async () => {
  for (let n = 0; n < 30; n++) expect((await ask(HOME)).status).toBe(401);
});
