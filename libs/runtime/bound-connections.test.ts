import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type FastifyInstance, type FastifyServerOptions, fastify } from 'fastify';
import { boundConnections, CONNECTION_LIMITS, type ConnectionLimits } from './bound-connections';

let app: FastifyInstance;
let served: number;
const sockets: Socket[] = [];

async function serve(
  limits: Partial<ConnectionLimits>,
  answer: () => unknown = () => 'ok',
  options: FastifyServerOptions = {},
): Promise<void> {
  served = 0;
  app = fastify({ forceCloseConnections: true, ...options });
  boundConnections(app, { ...CONNECTION_LIMITS, ...limits });
  app.get('/', async () => {
    served++;
    return answer();
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
}

async function opened(localAddress = '127.0.0.1'): Promise<Socket> {
  const accepted = once(app.server, 'connection');
  const { port } = app.server.address() as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  socket.on('error', () => {});
  sockets.push(socket);
  await Promise.all([once(socket, 'connect'), accepted]);
  return socket;
}

const GET = 'GET / HTTP/1.1\r\nhost: berth\r\n\r\n';

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await app.close();
});

it('answers as many requests of one connection at once as it may send', async () => {
  await serve({ requestsEach: 3 });
  const socket = await opened();
  for (let round = 0; round < 2; round++) {
    let text = '';
    socket.write(GET.repeat(3));
    while (text.split('200 OK').length < 4) text += String((await once(socket, 'data'))[0]);
  }
  expect(served).toBe(6);
});

it('closes a connection that sends more requests than it reads answers of', async () => {
  await serve({ requestsEach: 3 }, () => new Promise(() => {}));
  const socket = await opened();
  socket.resume().write(GET.repeat(500));
  await once(socket, 'close');
  expect(served).toBeLessThanOrEqual(3);
});

it('closes what was without a request longest when there are too many connections', async () => {
  await serve({ connections: 2 });
  const [first, second] = [await opened(), await opened()];
  first.write(GET);
  await once(first, 'data');
  const third = await opened();
  await once(second.resume(), 'close');
  for (const kept of [first, third]) {
    kept.write(GET);
    expect(String((await once(kept, 'data'))[0])).toContain('200 OK');
  }
});

it('refuses another connection when all have a request at work', async () => {
  await serve({ connections: 1 }, () => new Promise(() => {}));
  const first = await opened();
  const began = once(app.server, 'request');
  first.write(GET);
  await began;
  const second = await opened();
  await once(second.resume(), 'close');
  expect(first.destroyed).toBe(false);
});

it('closes one of the address that has most of them', async () => {
  await serve({ connections: 3 });
  const [other, first, second] = [await opened('127.0.0.2'), await opened(), await opened()];
  const third = await opened('127.0.0.3');
  await once(first.resume(), 'close');
  for (const kept of [other, second, third]) {
    kept.write(GET);
    expect(String((await once(kept, 'data'))[0])).toContain('200 OK');
  }
});

it('lets another address in when one has all connections at work', async () => {
  await serve({ connections: 3 }, () => new Promise(() => {}));
  const first = await opened();
  for (const socket of [first, await opened(), await opened()]) {
    const began = once(app.server, 'request');
    socket.write(GET);
    await began;
  }
  const other = await opened('127.0.0.2');
  await once(first.resume(), 'close');
  expect(other.destroyed).toBe(false);
});

it('counts connections that have not done their TLS handshake', async () => {
  await serve({ connections: 2 }, undefined, { https: {} } as FastifyServerOptions);
  const [first] = [await opened(), await opened(), await opened()];
  await once(first.resume(), 'close');
  expect(served).toBe(0);
});

it('closes a connection whose answer nobody reads', async () => {
  await serve({ silentMs: 100 }, () => Buffer.alloc(32 * 1_048_576));
  const [[onServer], socket] = await Promise.all([once(app.server, 'connection'), opened()]);
  socket.pause().write(GET);
  await once(onServer as Socket, 'close');
  expect(served).toBe(1);
});
