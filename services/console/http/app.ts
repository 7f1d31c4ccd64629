import cookie from '@fastify/cookie';
import csrf from '@fastify/csrf-protection';
import helmet from '@fastify/helmet';
import { type FastifyInstance, fastify } from 'fastify';
import { BerthError } from '#libs/domain/errors';
import { boundConnections } from '#libs/runtime/bound-connections';
import { readTlsFiles } from '#libs/runtime/tls-files';
import type { AppParts } from './app-parts';
import { refusalOf } from './problem';
import { refuseOtherNames, refuseOtherSites } from './same-site';
import { registerActions } from './serve-actions';
import { registerFiles } from './serve-files';
import { registerQuestions } from './serve-questions';
import { registerStream } from './serve-stream';
import { cookieName, isSecure, registerSession, tokenOf } from './session';

/** Exceeds any request for an explanation. */
const MAX_BODY_BYTES = 65_536;
/** Time limit of a whole request with its body; requests for event streams are complete early. */
const REQUEST_TIMEOUT_MS = 15_000;
const SERVER = { headersTimeout: 10_000, connectionsCheckingInterval: 2_000 };

/**
 * The HTTP application, not yet listening. No page loads anything from elsewhere, can be framed, or runs scripts other
 * than the console's files; actions require the cookie, the CSRF token and the console's own origin.
 */
export async function createApp(parts: AppParts): Promise<FastifyInstance & { closeStreams(): void }> {
  const { config, random, log, live } = parts;
  const tls = readTlsFiles('BERTH_CONSOLE_', config.tlsCertFile, config.tlsKeyFile);
  const app: FastifyInstance = fastify({
    genReqId: () => `req-${random.uuid()}`,
    bodyLimit: MAX_BODY_BYTES,
    forceCloseConnections: true,
    // A slow sender holds a connection no longer than this.
    requestTimeout: REQUEST_TIMEOUT_MS,
    trustProxy: config.proxies.length > 0 ? [...config.proxies] : false,
    // Fastify has a type for each; nothing here depends on which one.
    ...((tls === undefined ? { http: SERVER } : { https: { ...SERVER, ...tls } }) as object),
  });
  boundConnections(app);
  app.setErrorHandler((thrown, request, reply) => {
    const { status, problem } = refusalOf(thrown);
    if (status === 500) {
      const fields = { request_id: request.id, method: request.method, url: request.url };
      log.error({ event: 'request_failed', ...fields, error: BerthError.from(thrown) }, 'request failed, a defect');
    }
    return reply.code(status).header('cache-control', 'no-store').send(problem);
  });
  app.addHook('onRequest', async (request) => {
    if (config.auth === 'noauth' && !config.noauthAnywhere) refuseOtherNames(request);
    refuseOtherSites(request);
  });
  await app.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'", 'data:'],
        connectSrc: ["'self'"],
        baseUri: ["'none'"],
        formAction: ["'self'"],
        frameAncestors: ["'none'"],
      },
    },
    hsts: isSecure(config),
    xFrameOptions: { action: 'deny' },
  });
  await app.register(cookie);
  await app.register(csrf, {
    cookieKey: cookieName(config, 'berth_csrf'),
    cookieOpts: { path: '/', httpOnly: true, sameSite: 'strict', secure: isSecure(config) },
    // Bound to the session: a token is worthless in another. The binding value is itself a secret.
    getUserInfo: (request) => tokenOf(request, config),
    csrfOpts: { hmacKey: 'berth-console' },
    getToken: (request) => String(request.headers['x-csrf-token'] ?? ''),
  });
  const access = await registerSession(app, parts);
  const closeStreams = registerStream(app, live, access, config);
  registerActions(app, parts, access);
  registerQuestions(app, parts, access);
  await registerFiles(app);
  return Object.assign(app, { closeStreams });
}
