import type { IncomingHttpHeaders } from 'node:http';
import { isIPv4 } from 'node:net';
import { BerthError } from '../domain/errors';
import type { Authenticate, Principal } from './auth';
import { AuthError } from './auth-error';
import { headerOf } from './header';
import type { AuthConfig } from './options';

/**
 * Takes user, project and roles from the request's own headers. For development and tests, never for a network.
 *
 * `x-auth-token: user[:project]`; the project defaults to the name of the user, and `x-project-id` names another. `x-roles` are the roles, comma-separated;
 * without it the user `admin` has the role admin and every other user has none. With `openstack-system-scope: all` the
 * request has system scope and no project.
 */
export const noAuth: Authenticate = async (headers) => {
  const token = headerOf(headers, 'x-auth-token');
  if (token === undefined) throw new AuthError(401, 'A token is needed: x-auth-token: user[:project]');
  const [userId = '', ...rest] = token.split(':');
  const isSystemScoped = headerOf(headers, 'openstack-system-scope') !== undefined;
  return {
    userId,
    projectId: isSystemScoped ? undefined : (headerOf(headers, 'x-project-id') ?? (rest.join(':') || userId)),
    roles: rolesOf(headers, userId),
    isSystemScoped,
  };
};

function rolesOf(headers: IncomingHttpHeaders, userId: string): Principal['roles'] {
  // An empty header means no roles.
  const isGiven = headers['x-roles'] !== undefined;
  const text = isGiven ? (headerOf(headers, 'x-roles') ?? '') : userId === 'admin' ? 'admin' : '';
  const names = text.split(',').map((name) => name.trim().toLowerCase());
  return new Set(names.filter((name) => name !== ''));
}

/**
 * Refuses noauth on an address that other machines can reach, unless the configuration allows it.
 *
 * @param host the address that the API is about to listen on
 * @throws BerthError `failed_precondition / noauth_not_local`.
 */
export function requireLoopback(host: string, config: Pick<AuthConfig, 'auth' | 'noauthAnywhere'>): void {
  if (config.auth !== 'noauth' || config.noauthAnywhere || isLoopback(host)) return;
  throw new BerthError(
    'failed_precondition',
    'noauth_not_local',
    `BERTH_PLACEMENT_AUTH=noauth authenticates nobody, so it may not listen on ${host}: choose tokens or ` +
      'keystone, listen on 127.0.0.1, or set BERTH_PLACEMENT_NOAUTH_ANYWHERE=true where only trusted clients reach the port',
    { details: { host } },
  );
}

function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '').replace(/^::ffff:/i, '');
  return bare === 'localhost' || bare === '::1' || (isIPv4(bare) && bare.startsWith('127.'));
}
