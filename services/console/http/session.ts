import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Authenticate, Principal } from '#libs/auth/auth';
import { limitGuesses } from '#libs/auth/guess-limit';
import type { AuthConfig } from '#libs/auth/options';
import { BerthError } from '#libs/domain/errors';
import type { Session } from '../api/session';
import type { ConsoleConfig } from '../options';

/** The user without authentication. */
const NOAUTH_TOKEN = 'admin';
/** Exceeds Keystone's tokens, and fits into a browser's cookie. */
const MAX_TOKEN_LENGTH = 2_048;

export interface SessionDeps {
  readonly authenticate: Authenticate;
  readonly config: ConsoleConfig & AuthConfig;
}

/** Rights by the roles of a token. */
export interface Access {
  /**
   * A request's user, by its header `x-auth-token`, else its cookie. @throws AuthError; BerthError `permission_denied`.
   */
  reader(request: FastifyRequest): Promise<Principal>;
  /** The same, for a user who may act. */
  actor(request: FastifyRequest): Promise<Principal>;
  mayAct(principal: Principal): boolean;
}

/**
 * Signing in and out. The cookie holds the token itself, out of reach of scripts and of other sites, and each request
 * checks it again: so any console accepts it, a restart signs nobody out, and a revoked token ends with the next
 * request.
 */
export async function registerSession(app: FastifyInstance, { authenticate, config }: SessionDeps): Promise<Access> {
  const authenticateLimited = await limitGuesses(app, authenticate);
  const cookie = { path: '/', httpOnly: true, sameSite: 'strict', secure: isSecure(config) } as const;

  const principalOf = async (token: string, request: FastifyRequest): Promise<Principal> => {
    const principal = await authenticateLimited(request, { 'x-auth-token': token });
    if (!hasAny(principal, [...config.actRoles, ...config.readRoles])) throw noRole(principal, config);
    return principal;
  };
  const access: Access = {
    reader: (request) => principalOf(tokenOf(request, config), request),
    mayAct: (principal) => hasAny(principal, config.actRoles),
    async actor(request) {
      const principal = await principalOf(tokenOf(request, config), request);
      if (!hasAny(principal, config.actRoles)) throw readOnly(principal, config);
      return principal;
    },
  };
  const sessionOf = (principal: Principal, csrfToken: string): Session => ({
    userId: principal.userId,
    projectId: principal.projectId ?? '',
    roles: [...principal.roles].sort(),
    mayAct: hasAny(principal, config.actRoles),
    csrfToken,
    auth: config.auth,
  });

  app.get('/api/session', async (request, reply) => {
    const principal = await access.reader(request);
    return sessionOf(principal, reply.generateCsrf({ userInfo: tokenOf(request, config) }));
  });
  app.post('/api/session', async (request, reply) => {
    const { token } = (request.body ?? {}) as { token?: unknown };
    if (typeof token !== 'string' || token === '' || token.length > MAX_TOKEN_LENGTH) {
      throw new BerthError(
        'invalid_argument',
        'bad_token',
        `token must be a text of 1 to ${MAX_TOKEN_LENGTH} characters`,
      );
    }
    const principal = await principalOf(token, request);
    reply.setCookie(cookieName(config, 'berth_token'), token, cookie);
    return sessionOf(principal, reply.generateCsrf({ userInfo: token }));
  });
  app.delete('/api/session', async (_request, reply) => {
    reply.clearCookie(cookieName(config, 'berth_token'), cookie);
    return reply.code(204).send();
  });
  return access;
}

/** True when browsers reach the console by HTTPS only. */
export function isSecure({ tlsCertFile, secureCookies }: ConsoleConfig): boolean {
  return tlsCertFile !== '' || secureCookies;
}

/** By the prefix browsers take a cookie from the console itself only: no other host of its domain can sign somebody in as another. */
export function cookieName(config: ConsoleConfig, name: 'berth_token' | 'berth_csrf'): string {
  return isSecure(config) ? `__Host-${name}` : name;
}

/** From its header, else from its cookie. */
export function tokenOf(request: FastifyRequest, config: ConsoleConfig & AuthConfig): string {
  const header = request.headers['x-auth-token'];
  if (typeof header === 'string' && header !== '') return header;
  return request.cookies[cookieName(config, 'berth_token')] ?? (config.auth === 'noauth' ? NOAUTH_TOKEN : '');
}

function hasAny({ roles, isSystemScoped }: Principal, wanted: readonly string[]): boolean {
  return !isSystemScoped && wanted.some((role) => roles.has(role.toLowerCase()));
}

function noRole({ userId }: Principal, { actRoles, readRoles }: ConsoleConfig): BerthError {
  const message = `user ${userId} has none of the roles ${[...actRoles, ...readRoles].join(', ')} in the token's project`;
  return new BerthError('permission_denied', 'no_role', message);
}

function readOnly({ userId }: Principal, { actRoles }: ConsoleConfig): BerthError {
  const message = `user ${userId} may see and not act: that takes one of the roles ${actRoles.join(', ')}`;
  return new BerthError('permission_denied', 'read_only', message);
}
