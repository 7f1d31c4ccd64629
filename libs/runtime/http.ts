import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BerthError } from '../domain/errors';
import type { Metrics } from './metrics';
import type { Running } from './service';

export interface HttpSettings {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly metrics: Metrics;
  readonly readiness: Running['readiness'];
}

/** The operations endpoint of a process, listening. */
export interface OperationsServer {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves what an operator's tools ask of a process: `/healthz` (it lives), `/readyz` (it can work; 503 with the reason
 * when not) and `/metrics` (Prometheus).
 *
 * @throws BerthError `failed_precondition / port_in_use`, `failed_precondition / cannot_listen`.
 */
export async function serveOperations(settings: HttpSettings): Promise<OperationsServer> {
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    answer(path, settings, response).catch((thrown: unknown) => {
      send(response, 500, 'text/plain', `${BerthError.from(thrown).message}\n`);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(cannotListen(settings, error)));
    server.listen(settings.port, settings.host, resolve);
  });
  const { address, port, family } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(path: string, settings: HttpSettings, response: ServerResponse): Promise<void> {
  switch (path) {
    case '/healthz':
      return send(response, 200, 'text/plain', 'ok\n');
    case '/readyz': {
      const readiness = settings.readiness();
      return readiness.ready
        ? send(response, 200, 'text/plain', 'ready\n')
        : send(response, 503, 'text/plain', `not ready: ${readiness.reason}\n`);
    }
    case '/metrics':
      return send(response, 200, 'text/plain; version=0.0.4; charset=utf-8', await settings.metrics.expose());
    default:
      return send(response, 404, 'text/plain', 'not found; there are /healthz, /readyz and /metrics\n');
  }
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

function cannotListen(settings: HttpSettings, error: NodeJS.ErrnoException): BerthError {
  const where = `${settings.host}:${settings.port}`;
  if (error.code === 'EADDRINUSE') {
    return new BerthError(
      'failed_precondition',
      'port_in_use',
      `${where} is in use by another process; set BERTH_HTTP_PORT to another port, or to 0 for any free one`,
    );
  }
  return new BerthError(
    'failed_precondition',
    'cannot_listen',
    `cannot listen on ${where} (${error.code ?? error.message}); check BERTH_HTTP_HOST and BERTH_HTTP_PORT`,
    { cause: error },
  );
}
