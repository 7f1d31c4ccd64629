import type { FastifyRequest } from 'fastify';
import { BerthError } from '#libs/domain/errors';

/** Methods that change nothing. */
const SAFE: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

/**
 * Refuses requests that another site makes a browser send, in addition to the cookie's SameSite and the CSRF token.
 *
 * @throws BerthError `permission_denied / other_site`.
 */
export function refuseOtherSites(request: FastifyRequest): void {
  if (SAFE.includes(request.method)) return;
  const { origin, host } = request.headers;
  const site = request.headers['sec-fetch-site'];
  const isForeign = origin !== undefined && hostOf(origin) !== host;
  const isCross = site !== undefined && site !== 'same-origin' && site !== 'none';
  if (isForeign || isCross) throw otherSite(`${request.method} came from ${origin ?? 'another site'}`);
}

/**
 * Without authentication, refuses names other than this machine's: a site whose name resolves to 127.0.0.1 (DNS
 * rebinding) is not the console's own.
 *
 * @throws BerthError `permission_denied / other_site`.
 */
export function refuseOtherNames(request: FastifyRequest): void {
  const { host = '' } = request.headers;
  const name = host.replace(/:\d+$/, '');
  const isOwn = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(name);
  if (!isOwn)
    throw otherSite(`without authentication the console answers to 127.0.0.1 and localhost only, not ${name}`);
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}

function otherSite(message: string): BerthError {
  return new BerthError('permission_denied', 'other_site', message);
}
