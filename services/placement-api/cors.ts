import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { CorsConfig } from './cors-options';

/** Headers that every page may send (CORS's simple request headers, as in oslo.middleware). */
const SIMPLE_HEADERS = [
  'accept',
  'accept-language',
  'content-type',
  'cache-control',
  'content-language',
  'expires',
  'last-modified',
  'pragma',
];

/**
 * Lets pages of other origins use the API, as OpenStack's services do (oslo.middleware), which is not what @fastify/cors
 * does: OPTIONS is answered 200 on any path, before authentication, and a refusal is the absence of CORS headers, never an
 * error status. All other answers, errors among them, have CORS headers for an allowed origin. Without a configured
 * origin nothing is registered, and the app refuses OPTIONS.
 *
 * Call it on the root instance before any other hook or route: hooks run in the order in which they were added.
 */
export function registerCors(app: FastifyInstance, config: CorsConfig): void {
  if (config.allowedOrigin.length === 0) return;
  const permittedHeaders = new Set([...SIMPLE_HEADERS, ...config.allowHeaders.map((name) => name.toLowerCase())]);
  app.addHook('onRequest', async (request, reply) => {
    if (request.method !== 'OPTIONS') return;
    const headers = preflightHeaders(config, permittedHeaders, request);
    return reply.code(200).headers(headers).send();
  });
  app.addHook('onSend', async (request, reply) => {
    if (request.method !== 'OPTIONS') addOriginHeaders(config, request, reply);
  });
}

/** The headers of the answer to a preflight request; none when any part of it is not allowed. */
function preflightHeaders(
  config: CorsConfig,
  permittedHeaders: ReadonlySet<string>,
  request: FastifyRequest,
): Record<string, string> {
  const origin = allowedOrigin(config, request);
  const method = request.headers['access-control-request-method'];
  const asked = (request.headers['access-control-request-headers'] ?? '').split(',');
  const names = asked.map((name) => name.trim()).filter((name) => name !== '');
  if (origin === undefined || method === undefined || !config.allowMethods.includes(method)) return {};
  if (!names.every((name) => permittedHeaders.has(name.toLowerCase()))) return {};
  return {
    vary: 'Origin',
    ...originHeaders(config, origin),
    ...(config.maxAgeS > 0 ? { 'access-control-max-age': String(config.maxAgeS) } : {}),
    'access-control-allow-methods': method,
    ...(names.length > 0 ? { 'access-control-allow-headers': names.join(',') } : {}),
  };
}

function addOriginHeaders(config: CorsConfig, request: FastifyRequest, reply: FastifyReply): void {
  const origin = allowedOrigin(config, request);
  if (origin === undefined) return;
  const vary = reply.getHeader('vary');
  reply.header('vary', vary === undefined ? 'Origin' : `${String(vary)},Origin`).headers(originHeaders(config, origin));
  if (config.exposeHeaders.length > 0) reply.header('access-control-expose-headers', config.exposeHeaders.join(','));
}

function originHeaders({ allowCredentials }: CorsConfig, origin: string): Record<string, string> {
  return {
    'access-control-allow-origin': origin,
    ...(allowCredentials ? { 'access-control-allow-credentials': 'true' } : {}),
  };
}

function allowedOrigin({ allowedOrigin: allowed }: CorsConfig, request: FastifyRequest): string | undefined {
  const { origin } = request.headers;
  if (origin === undefined || allowed.includes(origin)) return origin;
  return allowed.includes('*') ? '*' : undefined;
}
