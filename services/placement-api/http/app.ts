import accepts from '@fastify/accepts';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Random } from '#libs/domain/random';
import type { Log } from '#libs/runtime/log';
import type { Authenticate, Principal } from '../auth/principal';
import { registerCors } from '../cors';
import type { CorsConfig } from '../cors-options';
import type { ApiMetrics } from '../metrics';
import { openApiDocument } from '../openapi';
import type { Placement } from '../placement';
import type { Policy } from '../policy/policy';
import { ROUTES, type Route } from '../routes';
import { at } from '../schemas/versioned';
import { ERROR_CODE, errorDocument, errorText, HttpError } from './http-error';
import { type Microversion, SINCE, VERSION_HEADER } from './microversion';
import { Query } from './query';
import { refuseUnreadable } from './refuse-unreadable';
import type { Answer } from './request';
import { requestedVersion } from './requested-version';
import { type Schema, whyInvalid } from './validate';

export interface AppDeps {
  readonly placement: Placement;
  readonly authenticate: Authenticate;
  readonly policy: Policy;
  readonly cors: CorsConfig;
  readonly limits: AppLimits;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: ApiMetrics;
}

export interface AppLimits {
  readonly bodyBytes: number;
  /** Of the request line and headers together, and so of a query string. */
  readonly headerBytes: number;
  readonly queryParameters: number;
}

/** What is known of a request as it goes through the hooks. */
interface Known {
  principal?: Principal;
  version?: Microversion;
}

const JSON_TYPE = 'application/json';
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE'] as const;
const NOBODY: Principal = { userId: '', projectId: undefined, roles: new Set(), isSystemScoped: false };
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const OPENAPI_PATH = '/openapi.json';
/** What is told whatever a client accepts: which versions there are, and of a trait only that there is one. */
const ANSWERED_TO_ALL: ReadonlySet<string> = new Set(['/', '/traits/{name}']);

/**
 * The HTTP side of the API, not yet listening. A request passes: CORS, its token, its microversion, then the route:
 * is there one in this microversion, content type, policy, query string, and the handler, which reads the body when it
 * comes to it. That is the order in which Placement finds fault, and clients see the first fault.
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
      deps.log.error({ ...fields, error: BerthError.from(thrown) }, 'a request failed: a defect');
    }
    reply.code(error.status).headers(error.headers);
    const { id: requestId, method, headers } = request;
    const accept = !headers.accept || headers.accept === '*/*' ? JSON_TYPE : headers.accept;
    const refused = {
      requestId,
      method,
      accept,
      mediaType: mediaTypeOf(request),
      version: known.get(request)?.version,
    };
    const type = accept === JSON_TYPE ? JSON_TYPE : request.accepts().type(['text/html', JSON_TYPE]);
    if (type === JSON_TYPE) return reply.send(jsonBytes(reply, JSON.stringify(errorDocument(error, refused))));
    const shown = type === 'text/html' ? type : 'text/plain';
    return reply.type(`${shown}; charset=UTF-8`).send(errorText(error, refused, shown));
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
    here.version = requestedVersion(headerOf(request, VERSION_HEADER));
    reply.header(VERSION_HEADER, `placement 1.${here.version}`).header('vary', VERSION_HEADER);
    if (mediaTypeOf(request) === undefined && Number(headerOf(request, 'content-length') ?? 0) > 0) {
      throw new HttpError(400, 'content-type header required when content-length > 0');
    }
    // `/traits/` is no trait without a name, `/traits/a%2Fb` none with a slash: they are nothing.
    const steps = Object.values(request.params as Record<string, string>);
    if (steps.some((step) => step === '' || step.includes('/'))) throw new HttpError(404);
  });
  app.addHook('onResponse', async (request, reply) => observe(deps, request, reply, known.get(request) ?? {}));
  app.setErrorHandler((thrown, request, reply) => fail(thrown, request, reply));
  app.setNotFoundHandler((request, reply) => fail(new HttpError(404), request, reply));
  // Bodies are bytes until a handler asks for them: whether one is wanted, and of which type, the route knows.
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
          return send(request, reply, answer, version, deps.clock);
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

async function serve(
  { placement, policy, limits }: AppDeps,
  route: Route,
  request: FastifyRequest,
  principal: Principal,
  version: Microversion,
): Promise<Answer> {
  if (version < route.since) throw notYet(route);
  const schema = at(route.body, version);
  const type = mediaTypeOf(request);
  if (schema && type !== JSON_TYPE) {
    throw new HttpError(415, `The media type ${type ?? 'None'} is not supported, use ${JSON_TYPE}`);
  }
  if (route.method === 'GET' && !ANSWERED_TO_ALL.has(route.path)) requireJsonAccepted(request);
  const query = new Query(queryStringOf(request.url), limits.queryParameters);
  if (route.rule) policy(route.rule, principal, { projectId: query.last('project_id') });
  const querySchema = at(route.query, version);
  const invalid = querySchema && whyInvalid(query.asObject(), querySchema);
  if (invalid !== undefined) throw new HttpError(400, `Invalid query string parameters: ${invalid}`);
  return route.handler(
    {
      version,
      principal,
      params: request.params as Readonly<Record<string, string>>,
      query,
      body: () => validBody(request.body, schema),
    },
    placement,
  );
}

function validBody(bytes: unknown, schema: Schema = {}): unknown {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(bytes instanceof Buffer ? bytes : undefined));
  } catch (thrown) {
    throw new HttpError(400, `Malformed JSON: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  }
  const invalid = whyInvalid(value, schema);
  if (invalid !== undefined) throw new HttpError(400, `JSON does not validate: ${invalid}`);
  return value;
}

function send(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: Answer,
  version: Microversion,
  clock: Clock,
): FastifyReply {
  const { status, body, json = body && JSON.stringify(body), location, lastModifiedMs } = answer;
  reply.code(status);
  if (location !== undefined) reply.header('location', `${request.protocol}://${request.host}${location}`);
  if (lastModifiedMs !== undefined && version >= SINCE.cacheHeaders) {
    const atMs = lastModifiedMs === 'now' ? clock.now() : lastModifiedMs;
    reply.header('last-modified', new Date(atMs).toUTCString()).header('cache-control', 'no-cache');
  }
  return json === undefined ? reply.send() : reply.send(jsonBytes(reply, json));
}

/** As bytes, so that fastify leaves the content type as clients compare it: without a charset. */
function jsonBytes(reply: FastifyReply, json: string): Buffer {
  reply.header('content-type', JSON_TYPE);
  // Most is ASCII, and copied ten times as fast when that is said.
  return Buffer.from(json, Buffer.byteLength(json) === json.length ? 'latin1' : 'utf8');
}

function httpErrorOf(thrown: unknown): HttpError {
  if (thrown instanceof HttpError) return thrown;
  if (thrown instanceof BerthError) {
    switch (thrown.code) {
      case 'invalid_argument':
        return new HttpError(400, thrown.message);
      case 'aborted':
        return new HttpError(409, thrown.message, ERROR_CODE.concurrentUpdate);
      case 'unavailable':
      case 'deadline_exceeded':
      case 'resource_exhausted':
        return new HttpError(503, thrown.message, ERROR_CODE.undefined, { 'retry-after': '1' });
      default:
        break;
    }
  }
  // What fastify itself refuses: a body over the limit or not as long as it says.
  const status = (thrown as { statusCode?: number }).statusCode;
  if (status === 400 || status === 413 || status === 415) return new HttpError(status, BerthError.from(thrown).message);
  return new HttpError(500, 'an unexpected error; the log of the placement API has it under the request id');
}

function notYet({ path, method }: Route): HttpError {
  // Placement answers 405 here, because other methods of the path are older.
  const isMethodMissing = method === 'DELETE' && path.endsWith('/inventories');
  return isMethodMissing ? methodNotAllowed(['GET', 'POST', 'PUT']) : new HttpError(404);
}

function methodNotAllowed(allow: readonly string[]): HttpError {
  const detail = 'The method specified is not allowed for this resource.';
  return new HttpError(405, detail, ERROR_CODE.undefined, { allow: allow.join(', ') });
}

function requireJsonAccepted(request: FastifyRequest): void {
  if (request.accepts().type([JSON_TYPE]) === false) throw new HttpError(406, `Only ${JSON_TYPE} is provided`);
}

function observe({ clock, log, metrics }: AppDeps, request: FastifyRequest, reply: FastifyReply, known: Known): void {
  const path = request.routeOptions.url ?? 'unknown';
  metrics.requests.inc({ method: request.method, path, status: String(reply.statusCode) });
  metrics.requestSeconds.observe({ method: request.method, path }, reply.elapsedTime / 1000);
  log.debug(
    {
      request_id: request.id,
      method: request.method,
      url: request.url,
      status: reply.statusCode,
      user_id: known.principal?.userId,
      microversion: known.version,
      at_ms: clock.now(),
    },
    'answered',
  );
}

function isPublic(request: FastifyRequest): boolean {
  const path = request.url.split('?')[0];
  return path === '/' || path === OPENAPI_PATH;
}

/** An address as the router takes it: one that can't be decoded stands for itself, slashes before it don't count. */
function routableUrl(url: string): string {
  const [path = '', ...query] = url.replace(/^\/+/, '/').split('?');
  return [isDecodable(path) ? path : path.replaceAll('%', '%25'), ...query].join('?');
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

function mediaTypeOf(request: FastifyRequest): string | undefined {
  return headerOf(request, 'content-type')?.split(';')[0]?.trim().toLowerCase() || undefined;
}

function queryStringOf(url: string): string {
  const start = url.indexOf('?');
  return start < 0 ? '' : url.slice(start + 1);
}

function headerOf(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(',') : value;
}

function byPath(routes: readonly Route[]): Map<string, Route[]> {
  const paths = new Map<string, Route[]>();
  for (const route of routes) paths.set(route.path, [...(paths.get(route.path) ?? []), route]);
  return paths;
}
