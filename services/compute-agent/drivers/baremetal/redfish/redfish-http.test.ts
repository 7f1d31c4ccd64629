import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { askRedfish, mustSucceed } from './redfish-http';

const servers: Server[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server[Symbol.asyncDispose]())));

async function listening(server: Server): Promise<string> {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it("takes a redirect as a refusal, and no other host hears the session's token", async () => {
  const heard: unknown[] = [];
  const other = createServer(({ headers }, answer) => {
    heard.push(headers['x-auth-token']);
    answer.end('{}');
  });
  const elsewhere = await listening(other);
  const controller = createServer((_request, answer) => answer.writeHead(308, { location: elsewhere }).end());
  const url = `${await listening(controller)}/redfish/v1/Systems/1`;
  const answer = await askRedfish(url, { token: 'secret' }, 5_000);
  expect(() => mustSucceed(answer, url)).toThrow(`${url} answered 308`);
  expect(heard).toEqual([]);
});
