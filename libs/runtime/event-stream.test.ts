import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { EventStream } from './event-stream';

let server: Server;
let socket: Socket;

beforeEach(async () => {
  server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  socket.destroy();
  server.close();
  await once(server, 'close');
});

/** A stream, and the client of it. */
async function opened(): Promise<{ readonly stream: EventStream; readonly response: ServerResponse }> {
  const asked = once(server, 'request');
  socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
  socket.pause().write('GET / HTTP/1.1\r\nhost: berth\r\n\r\n');
  const [, response] = (await asked) as [unknown, ServerResponse];
  return { stream: new EventStream(response), response };
}

const EVENT = JSON.stringify('x'.repeat(1_048_576));

it('closes the connection of a client that takes nothing while events wait', async () => {
  const { stream, response } = await opened();
  // More than the system takes on behalf of a client.
  for (let n = 0; n < 32; n++) stream.send('instance', EVENT);
  for (let n = 0; n < 4; n++) stream.keepAlive();
  expect(response.destroyed).toBe(false);
  stream.keepAlive();
  await once(response, 'close');
});

it('closes it though the client takes a little now and then', async () => {
  const { stream, response } = await opened();
  for (let n = 0; n < 32; n++) stream.send('instance', EVENT);
  for (let n = 0; n < 4; n++) {
    stream.keepAlive();
    await once(socket.resume(), 'data');
    socket.pause();
  }
  expect(response.destroyed).toBe(false);
  stream.keepAlive();
  await once(response, 'close');
});

it('keeps that of a client that reads, though nothing happens', async () => {
  const { stream, response } = await opened();
  let heard = 0;
  const all = new Promise<void>((resolve) => {
    socket.on('data', (data: Buffer) => {
      heard += data.toString().split(':\n\n').length - 1;
      if (heard >= 20) resolve();
    });
  });
  socket.resume();
  for (let n = 0; n < 20; n++) {
    stream.keepAlive();
    await new Promise<void>((resolve) => response.write('', () => resolve()));
  }
  await all;
  expect(response.destroyed).toBe(false);
});
