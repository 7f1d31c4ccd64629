import accepts from '@fastify/accepts';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Random } from '#libs/domain/random';
import type { Log } from '#libs/runtime/log';
import type { Authenticate, Principal } from '../auth/auth';
import { registerCors } from '../cors';
import type { CorsConfig } from '../cors-options';
import type { ApiMetrics } from '../metrics';
import { openApiDocument } from '../openapi';
import { ROUTES, type Route } from '../routes';
import { headerOf, mediaTypeOf, requestedVersion } from './headers';
import { HttpError, httpErrorOf } from './http-error';
import { type Microversion, VERSION_HEADER } from './microversion';
import { jsonBytes, sendAnswer, sendError } from './reply';
import { methodNotAllowed, type ServeDeps, serve } from './serve';
import { refuseUnreadable, routableUrl } from './unreadable';

export interface AppDeps extends ServeDeps {
  readonly authenticate: Authenticate;
  readonly cors: CorsConfig;
  readonly limits: AppLimits;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: ApiMetrics;
}

export interface AppLimits {
  readonly bodyBytes: number;
  /** Limit of request line and headers together, and so of a query string. */
  readonly headerBytes: number;
  readonly queryParameters: number;
}

/** What the hooks find out about a request. */
interface Known {
  principal?: Principal;
  version?: Microversion;
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE'] as const;
const NOBODY: Principal = { userId: '', projectId: undefined, roles: new Set(), isSystemScoped: false };
const OPENAPI_PATH = '/openapi.json';

/**
 * Creates the HTTP application, not yet listening. A request passes, in this order: request id, CORS, authentication,
 * microversion, and its route (`serve`).
 */
export async function createApp(deps: AppDeps): Promise<FastifyInstance> {
  const known = new WeakMap<FastifyRequest, Known>();
  const app = fastify({
    genReqId: () => `req-${deps.random.uuid()}`,
    exposeHeadRoutes: false,
    bodyLimit: deps.limits.bodyBytes,
    http: { maxHeaderSize: deps.limits.headerBytes },
    routerOptions: { maxParamLength: deps.limits.headerBytes, querystringParser: () => ({}) },
    rewriteUrl: ({ url = '/' }) => routableUrl(url),
    clientErrorHandler: (error, socket) => refuseUnreadable(error, socket, `req-${deps.random.uuid()}`),
  });
  const fail = (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const error = httpErrorOf(thrown);
    if (error.status === 500) {
      const fields = { request_id: request.id, method: request.method, url: request.url };
      deps.log.error(
        { event: 'request_failed', ...fields, error: BerthError.from(thrown) },
        'request failed, a defect',
      );
    }
    return sendError(request, reply, error, known.get(request)?.version);
  };

  await app.register(accepts);
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-openstack-request-id', request.id);
  });
  registerCors(app, deps.cors);
  app.addHook('onRequest', async (request, reply) => {
    const here: Known = {};
    known.set(request, here);
    here.principal = isPublic(request) ? NOBODY : await deps.authenticate(request.headers);
    here.version = requestedVersion(headerOf(request.headers, VERSION_HEADER));
    reply.header(VERSION_HEADER, `placement 1.${here.version}`).header('vary', VERSION_HEADER);
    if (mediaTypeOf(request.headers) === undefined && Number(headerOf(request.headers, 'content-length') ?? 0) > 0) {
      throw new HttpError(400, 'content-type header required when content-length > 0');
    }
    // `/traits/` and `/traits/a%2Fb` are no paths of the API: Placement answers 404.
    const steps = Object.values(request.params as Record<string, string>);
    if (steps.some((step) => step === '' || step.includes('/'))) throw new HttpError(404);
  });
  app.addHook('onResponse', async (request, reply) => observe(deps, request, reply, known.get(request) ?? {}));
  app.setErrorHandler((thrown, request, reply) => fail(thrown, request, reply));
  app.setNotFoundHandler((request, reply) => fail(new HttpError(404), request, reply));
  // Bodies stay bytes until the handler reads them: their media type is checked by the route.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

  const document = JSON.stringify(openApiDocument());
  app.get(OPENAPI_PATH, async (_request, reply) => reply.send(jsonBytes(reply, document)));
  for (const [path, routes] of byPath(ROUTES)) {
    const url = path.replaceAll(/\{(\w+)\}/g, ':$1');
    for (const route of routes) {
      app.route({
        method: route.method,
        url,
        async handler(request, reply) {
          const { principal = NOBODY, version = 0 } = known.get(request) ?? {};
          const answer = await serve(deps, route, request, principal, version);
          return sendAnswer(request, reply, answer, version, deps.clock);
        },
      });
    }
    const allow = routes.map(({ method }) => method);
    app.route({
      method: METHODS.filter((method) => !allow.some((allowed) => allowed === method)),
      url,
      handler() {
        throw methodNotAllowed(allow);
      },
    });
  }
  return app;
}

function observe({ log, metrics }: AppDeps, request: FastifyRequest, reply: FastifyReply, known: Known): void {
  const path = request.routeOptions.url ?? 'unknown';
  metrics.requests.inc({ method: request.method, path, status: String(reply.statusCode) });
  metrics.requestSeconds.observe({ method: request.method, path }, reply.elapsedTime / 1000);
  log.debug(
    {
      event: 'request_answered',
      request_id: request.id,
      method: request.method,
      url: request.url,
      status: reply.statusCode,
      user_id: known.principal?.userId,
      microversion: known.version,
      elapsed_ms: reply.elapsedTime,
    },
    'request answered',
  );
}

function isPublic(request: FastifyRequest): boolean {
  const path = request.url.split('?')[0];
  return path === '/' || path === OPENAPI_PATH;
}

function byPath(routes: readonly Route[]): Map<string, Route[]> {
  const paths = new Map<string, Route[]>();
  for (const route of routes) paths.set(route.path, [...(paths.get(route.path) ?? []), route]);
  return paths;
}
