import accepts from '@fastify/accepts';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { Authenticate, Principal } from '#libs/auth/auth';
import { limitGuesses } from '#libs/auth/guess-limit';
import { headerOf } from '#libs/auth/header';
import { BerthError } from '#libs/domain/errors';
import { boundConnections } from '#libs/runtime/bound-connections';
import type { RuntimeDeps } from '#libs/runtime/service';
import { readTlsFiles } from '#libs/runtime/tls-files';
import type { ClientSource } from '../builds/lazy-client';
import { refusalOf } from '../builds/refusal';
import { registerBuilds } from '../builds/register';
import { registerCors } from '../cors';
import { apiMetrics } from '../metrics';
import { openApiDocument } from '../openapi';
import { ROUTES } from '../routes';
import { JSON_TYPE, mediaTypeOf, requestedVersion } from './headers';
import { badRequest, HttpError, httpErrorOf } from './http-error';
import { type Microversion, NEWEST, VERSION_HEADER } from './microversion';
import { sendAnswer, sendError } from './reply';
import { logAnswered, REQUEST_ID_HEADER, requestIds } from './request-log';
import { refuseOtherMethods, type ServeDeps, serve, urlOf } from './serve';
import { trustedProxies } from './trusted-proxies';
import { belowPrefix, refuseUnreadable, routableUrl } from './unreadable';

export interface AppDeps extends ServeDeps, RuntimeDeps {
  readonly authenticate: Authenticate;
  readonly builds: ClientSource;
}

/** The application, and how to end what it streams. */
export interface App {
  readonly app: FastifyInstance;
  readonly endStreams: () => void;
}

/** Findings of the hooks about a request. */
interface Known {
  principal?: Principal;
  version?: Microversion;
}

const NOBODY: Principal = { userId: '', projectId: undefined, roles: new Set(), isSystemScoped: false };
const OPENAPI_PATH = '/openapi.json';

/**
 * Creates the HTTP application, not yet listening. A request passes through, in this order: request id, CORS,
 * authentication, microversion, and its route (`serve`).
 */
export async function createApp(deps: AppDeps): Promise<App> {
  const { config, log } = deps;
  const metrics = apiMetrics(deps.metrics);
  const known = new WeakMap<FastifyRequest, Known>();
  const app = createServer(deps);
  boundConnections(app);
  const answerError = (
    thrown: unknown,
    { error, version }: { readonly error: HttpError; readonly version: Microversion | undefined },
    request: FastifyRequest,
    reply: FastifyReply,
  ) => {
    if (error.status === 500) {
      const fields = { ...requestIds(request), method: request.method, url: request.url };
      log.error({ event: 'request_failed', ...fields, error: BerthError.from(thrown) }, 'request failed, a defect');
    }
    return sendError(request, reply, error, version);
  };
  const fail = (thrown: unknown, request: FastifyRequest, reply: FastifyReply) =>
    answerError(thrown, { error: httpErrorOf(thrown), version: known.get(request)?.version }, request, reply);

  await app.register(accepts);
  const authenticate = await limitGuesses(app, deps.authenticate);
  app.addHook('onRequest', async (request, reply) => {
    reply.header(REQUEST_ID_HEADER, request.id);
  });
  registerCors(app, config);
  app.addHook('onRequest', async (request, reply) => {
    const here: Known = {};
    known.set(request, here);
    here.principal = isPublic(request) ? NOBODY : await authenticate(request, request.headers);
    here.version = requestedVersion(headerOf(request.headers, VERSION_HEADER));
    reply.header(VERSION_HEADER, `placement 1.${here.version}`).header('vary', VERSION_HEADER);
    if (mediaTypeOf(request.headers) === undefined && Number(headerOf(request.headers, 'content-length') ?? 0) > 0) {
      throw badRequest('content-type header required when content-length > 0');
    }
    // `/traits/` and `/traits/a%2Fb` are no paths of the API: Placement answers 404.
    const steps = Object.values(request.params as Record<string, string>);
    if (steps.some((step) => step === '' || step.includes('/'))) throw new HttpError(404);
  });
  app.addHook('onResponse', async (request, reply) => {
    const { method } = request;
    const path = request.routeOptions.url ?? 'unknown';
    metrics.requests.inc({ method, path, status: String(reply.statusCode) });
    metrics.requestSeconds.observe({ method, path }, reply.elapsedTime / 1000);
    logAnswered(log, request, reply, known.get(request) ?? {});
  });
  app.setErrorHandler((thrown, request, reply) => fail(thrown, request, reply));
  app.setNotFoundHandler((request, reply) => fail(new HttpError(404), request, reply));
  // Bodies stay bytes until the handler reads them: the route checks their media type.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

  registerRoutes(app, deps, (request) => known.get(request) ?? {});
  const endStreams = registerBuilds(app, deps, {
    principalOf: (request) => known.get(request)?.principal ?? NOBODY,
    fail: (thrown, request, reply) =>
      void answerError(thrown, { error: refusalOf(thrown), version: NEWEST }, request, reply),
  });
  return { app, endStreams };
}

function createServer({ config, random }: AppDeps) {
  const tls = readTlsFiles('BERTH_PLACEMENT_', config.tlsCertFile, config.tlsKeyFile);
  const server = { maxHeaderSize: config.maxHeaderBytes, headersTimeout: 20_000, connectionsCheckingInterval: 5_000 };
  return fastify({
    genReqId: () => `req-${random.uuid()}`,
    exposeHeadRoutes: false,
    bodyLimit: config.maxBodyBytes,
    // A slow sender holds a connection no longer than this.
    requestTimeout: 30_000,
    // Fastify has a type for each; nothing here depends on which one.
    ...((tls === undefined ? { http: server } : { https: { ...server, ...tls } }) as { http: typeof server }),
    routerOptions: { maxParamLength: config.maxHeaderBytes, querystringParser: () => ({}) },
    rewriteUrl: ({ url = '/' }) => belowPrefix(routableUrl(url), config.pathPrefix),
    trustProxy: trustedProxies(config.trustedProxies),
    clientErrorHandler: (error, socket) => refuseUnreadable(error, socket, `req-${random.uuid()}`),
  });
}

/** The document of the API, and all of its routes. */
function registerRoutes(app: FastifyInstance, deps: AppDeps, knownOf: (request: FastifyRequest) => Known): void {
  // The same bytes for all answers: strangers may ask for it, and need not read it.
  const document = Buffer.from(JSON.stringify(openApiDocument(deps.config)));
  app.get(OPENAPI_PATH, async (_request, reply) => reply.header('content-type', JSON_TYPE).send(document));
  for (const path of new Set(ROUTES.map((route) => route.path))) {
    const routes = ROUTES.filter((route) => route.path === path);
    const url = urlOf(path);
    for (const route of routes) {
      app.route({
        method: route.method,
        url,
        async handler(request, reply) {
          const { principal = NOBODY, version = 0 } = knownOf(request);
          const answer = await serve(deps, route, request, { principal, version });
          return sendAnswer(reply, answer, version, deps);
        },
      });
    }
    refuseOtherMethods(
      app,
      path,
      routes.map(({ method }) => method),
    );
  }
}

function isPublic(request: FastifyRequest): boolean {
  const path = request.url.split('?')[0];
  return path === '/' || path === OPENAPI_PATH;
}
