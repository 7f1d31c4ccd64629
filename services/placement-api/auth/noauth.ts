import { HttpError } from '../http/http-error';
import { headerOf, type RequestHeaders } from './headers';
import type { Authenticate, Principal } from './principal';

/**
 * Believes what a request says of itself; for development and tests, never for a network.
 *
 * `x-auth-token: user[:project]`, the project being named as the user when it is left out. `x-roles` are the roles,
 * comma-separated; without it the user `admin` has the role admin and everyone else none. With `openstack-system-scope`
 * (`all`) the request is for the whole system and has no project.
 */
export const noAuth: Authenticate = async (headers) => {
  const token = headerOf(headers, 'x-auth-token');
  if (token === undefined) throw new HttpError(401, 'A token is needed: x-auth-token: user[:project]');
  const [userId = '', ...rest] = token.split(':');
  const isSystemScoped = headerOf(headers, 'openstack-system-scope') !== undefined;
  return {
    userId,
    projectId: isSystemScoped ? undefined : rest.join(':') || userId,
    roles: rolesOf(headers, userId),
    isSystemScoped,
  };
};

function rolesOf(headers: RequestHeaders, userId: string): Principal['roles'] {
  // An empty header says that there are none.
  const isTold = headers['x-roles'] !== undefined;
  const text = isTold ? (headerOf(headers, 'x-roles') ?? '') : userId === 'admin' ? 'admin' : '';
  const names = text.split(',').map((name) => name.trim().toLowerCase());
  return new Set(names.filter((name) => name !== ''));
}
