import { fastify } from 'fastify';
import { BerthError } from '../domain/errors';
import { boundConnections } from './bound-connections';
import type { Metrics } from './metrics';
import type { Running } from './service';

export interface HttpSettings {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly metrics: Metrics;
  readonly readiness: Running['readiness'];
  /** A document of the service at a path, if it has one there. */
  readonly document?: (path: string) => object | undefined;
}

/** The operations endpoint of a process, listening. */
export interface OperationsServer {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves the operations endpoints: `/healthz` (alive), `/readyz` (ready; 503 with the reason when not), `/metrics`
 * (Prometheus), and the service's own documents (JSON).
 *
 * @throws BerthError `failed_precondition / port_in_use`, `failed_precondition / cannot_listen`.
 */
export async function serveOperations(settings: HttpSettings): Promise<OperationsServer> {
  const { host, port, metrics, readiness, document } = settings;
  const app = fastify({ forceCloseConnections: true, requestTimeout: 30_000 });
  boundConnections(app);
  app.get('/healthz', async () => 'ok\n');
  app.get('/readyz', async (_, reply) => {
    const state = readiness();
    return state.ready ? 'ready\n' : reply.code(503).send(`not ready: ${state.reason}\n`);
  });
  app.get('/metrics', async (_, reply) => {
    return reply.type('text/plain; version=0.0.4; charset=utf-8').send(await metrics.expose());
  });
  app.setNotFoundHandler(async ({ method, url }, reply) => {
    const found = method === 'GET' ? document?.(url) : undefined;
    if (found !== undefined) return reply.code(200).send(found);
    return reply.code(404).send('not found; there are /healthz, /readyz and /metrics\n');
  });
  try {
    return { url: await app.listen({ host, port }), close: () => app.close() };
  } catch (thrown) {
    throw cannotListen(settings, thrown as NodeJS.ErrnoException);
  }
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
