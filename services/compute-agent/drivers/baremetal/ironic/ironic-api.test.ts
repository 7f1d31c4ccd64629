import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BerthError } from '#libs/domain/errors';
import { systemClock } from '#libs/runtime/system';
import { askIronic, type IronicLogin } from './ironic-api';
import { IronicNodes } from './ironic-nodes';

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

const clock = systemClock();
let server: Server;
let received: IncomingMessage[];
let answers: Answer[];

beforeEach(async () => {
  received = [];
  answers = [];
  server = createServer((request, response) => {
    received.push(request);
    const { status, headers = {}, body } = answers.shift() ?? { status: 500 };
    response.writeHead(status, headers).end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

function asking(login: IronicLogin = { kind: 'none' }) {
  const root = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return askIronic({ root, login, timeoutMs: 5_000, clock });
}

const aNode = (n: number) => ({
  uuid: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  provision_state: 'available',
});

it('asks with a microversion, and the account of http_basic', async () => {
  answers.push({ status: 200, body: { nodes: [] } });
  await asking({ kind: 'basic', user: 'berth', password: 'secret' })({ path: '/v1/nodes' });
  expect(received[0]?.headers).toMatchObject({
    'x-openstack-ironic-api-version': '1.48',
    authorization: `Basic ${Buffer.from('berth:secret').toString('base64')}`,
  });
});

it('drops a token that is refused, and asks once more with the next', async () => {
  const dropped: string[] = [];
  const tokens = { token: async () => `t${dropped.length}`, forget: (token: string) => void dropped.push(token) };
  answers.push({ status: 401 }, { status: 200, body: {} });
  await asking({ kind: 'keystone', tokens })({ path: '/v1/nodes' });
  expect([dropped, received[1]?.headers['x-auth-token']]).toEqual([['t0'], 't1']);
});

it('asks again after the pause that the service asks for, and looks at the lease each time', async () => {
  let looks = 0;
  answers.push({ status: 503, headers: { 'retry-after': '0' } }, { status: 202 });
  await asking()({ method: 'PUT', path: '/v1/nodes/n/states/power', fence: () => void looks++ });
  expect([received.length, looks]).toEqual([2, 2]);
});

it('sends no order once the lease is in doubt', async () => {
  const fence = () => {
    throw new BerthError('failed_precondition', 'epoch_unknown', 'in doubt');
  };
  await expect(asking()({ method: 'PUT', path: '/', fence })).rejects.toMatchObject({ reason: 'epoch_unknown' });
  expect(received).toEqual([]);
});

it.each<[number, unknown, string, string]>([
  [409, 'Node n is locked by host h, please retry', 'unavailable', 'controller_busy'],
  [409, 'Node n can not be updated while a state transition is in progress.', 'unavailable', 'controller_busy'],
  [409, 'Node n is associated with instance i.', 'failed_precondition', 'controller_refused'],
  [403, 'Node n is protected', 'failed_precondition', 'controller_refused'],
  [401, '', 'failed_precondition', 'login_refused'],
  [500, '', 'unavailable', 'controller_away'],
])('takes %i with %j for %s, %s', async (status, faultstring, code, reason) => {
  answers.push({ status, body: { error_message: JSON.stringify({ faultstring }) } });
  const message = expect.stringContaining(String(faultstring));
  await expect(asking()({ path: '/' })).rejects.toMatchObject({ code, reason, message });
});

it('takes a service that does not answer for absent', async () => {
  const ask = asking();
  server.closeAllConnections();
  server.close();
  await expect(ask({ path: '/' })).rejects.toMatchObject({ code: 'unavailable', reason: 'controller_away' });
});

it('lists page by page', async () => {
  answers.push({ status: 200, body: { nodes: [aNode(1), aNode(2)], next: 'http://elsewhere/' } });
  answers.push({ status: 200, body: { nodes: [aNode(3)] } });
  const nodes = await new IronicNodes(asking(), clock, 1_000).list();
  expect(nodes.size).toBe(3);
  expect(received[1]?.url).toContain(`marker=${aNode(2).uuid}`);
});

it('lists once for all that ask meanwhile, and again for what has changed since', async () => {
  answers.push({ status: 200, body: { nodes: [aNode(1), aNode(2)] } }, { status: 200, body: { nodes: [aNode(1)] } });
  const nodes = new IronicNodes(asking(), clock, 60_000);
  const [first, second] = await Promise.all([nodes.glance(aNode(1).uuid, 0), nodes.glance(aNode(2).uuid, 0)]);
  expect([first.uuid, second.uuid, received.length]).toEqual([aNode(1).uuid, aNode(2).uuid, 1]);
  const gone = nodes.glance(aNode(2).uuid, clock.elapsed());
  await expect(gone).rejects.toMatchObject({ reason: 'controller_refused' });
  expect(received.length).toBe(2);
});

it('takes no other node for the one that was asked for', async () => {
  answers.push({ status: 200, body: aNode(2) });
  await expect(new IronicNodes(asking(), clock, 0).read(aNode(1).uuid)).rejects.toMatchObject({
    reason: 'system_changed',
  });
});
