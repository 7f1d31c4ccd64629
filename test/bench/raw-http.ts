import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { measureRate, type Rate } from './harness';
import { HttpConnection, httpRequest } from './http-client';

/**
 * The ceiling of HTTP on this machine: a process with node:http only, which answers keep-alive clients with bodies of a
 * given size.
 */
export async function rawHttpRate(load: {
  readonly bodyBytes: number;
  readonly clients: number;
  readonly seconds: number;
}): Promise<Rate> {
  const server = fork(__filename, [String(load.bodyBytes)]);
  try {
    const [port] = (await once(server, 'message')) as [number];
    const idle = await Promise.all(Array.from({ length: load.clients }, () => HttpConnection.open(port)));
    const request = httpRequest('GET', '/', {});
    const operation = async () => {
      const connection = idle.pop() as HttpConnection;
      await connection.send(request);
      idle.push(connection);
    };
    const rate = await measureRate(operation, { inFlight: load.clients, seconds: load.seconds });
    for (const connection of idle) connection.close();
    return rate;
  } finally {
    server.kill('SIGKILL');
  }
}

/** The server process. */
function serve(bodyBytes: number): void {
  const body = Buffer.alloc(bodyBytes, 'x');
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    response.end(body);
  });
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
}

if (require.main === module) serve(Number(process.argv[2] ?? 0));
