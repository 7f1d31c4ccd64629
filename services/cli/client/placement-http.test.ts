import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '#libs/runtime/system';
import { getDocument, parameter, type Query } from './placement-http';

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

/** A client of a server with the test's answers. */
async function clientOf(listener: RequestListener, fields: { timeoutMs?: number; interrupted?: AbortSignal } = {}) {
  const server = createServer(listener);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  stops.push(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/placement/`;
  const interrupted = new AbortController().signal;
  const address = { url, token: 'secret', timeoutMs: 5_000, clock: systemClock(), interrupted, ...fields };
  return { get: (path: string, query?: Query) => getDocument(address, path, query) };
}

function refusing(status: number, error: object = {}): RequestListener {
  return (_request, response) => response.writeHead(status).end(JSON.stringify({ errors: [error] }));
}

it('asks at 1.39, with its token, below the path of the address', async () => {
  const http = await clientOf(({ url, headers }, response) => response.end(JSON.stringify({ url, headers })));
  const query = [...parameter('required', 'A', '!B'), ...parameter('limit', undefined)];
  expect(await http.get('/traits', query)).toMatchObject({
    url: '/placement/traits?required=A&required=%21B',
    headers: { 'openstack-api-version': 'placement 1.39', 'x-auth-token': 'secret', accept: 'application/json' },
  });
});

it.each([
  [
    400,
    { detail: 'WebOb says.\n\n what is\nwrong  ', code: 'placement.query.bad_value' },
    'invalid_argument',
    'placement.query.bad_value',
  ],
  [400, { detail: 'wrong', code: 'placement.undefined_code' }, 'invalid_argument', 'bad_request'],
  [401, {}, 'permission_denied', 'unauthenticated'],
  [403, {}, 'permission_denied', 'forbidden'],
  [404, { code: 'placement.resource_provider.not_found' }, 'not_found', 'placement.resource_provider.not_found'],
  [406, { max_version: '1.36' }, 'failed_precondition', 'api_too_old'],
  [500, {}, 'internal', 'unexpected_answer'],
  [503, {}, 'unavailable', 'api_unavailable'],
])('an answer %i with %j is %s / %s', async (status, error, code, reason) => {
  const http = await clientOf(refusing(status, error));
  await expect(http.get('/')).rejects.toMatchObject({ code, reason });
});

it('says what Placement says, without its sentence about the status', async () => {
  const http = await clientOf(refusing(400, { detail: 'WebOb says.\n\n what is\nwrong  ' }));
  await expect(http.get('/')).rejects.toThrow('the placement API answered 400: what is wrong');
});

it.each([
  ['a page', (_request, response) => response.end('<html>')],
  ['a proxy', (_request, response) => response.writeHead(502).end('bad gateway')],
  ['a redirect', (_request, response) => response.writeHead(302, { location: 'http://127.0.0.1:2/' }).end()],
] as [string, RequestListener][])('takes %s for no placement API', async (_what, listener) => {
  const http = await clientOf(listener);
  await expect(http.get('/')).rejects.toMatchObject({ code: 'unavailable', reason: 'not_placement' });
});

it('waits as long as it is told, and no longer than until Ctrl-C', async () => {
  const late = await clientOf(() => {}, { timeoutMs: 50 });
  await expect(late.get('/')).rejects.toMatchObject({ code: 'deadline_exceeded', reason: 'api_silent' });
  const interrupting = new AbortController();
  const http = await clientOf(() => interrupting.abort(), { interrupted: interrupting.signal });
  await expect(http.get('/')).rejects.toMatchObject({ reason: 'interrupted' });
});
