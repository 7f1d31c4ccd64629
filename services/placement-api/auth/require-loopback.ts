import { isIPv4 } from 'node:net';
import { BerthError } from '#libs/domain/errors';
import type { AuthConfig } from './options';

/**
 * Refuses to serve noauth where others than this machine reach it, unless the configuration says so.
 *
 * @param host the address that the API is about to listen on
 * @throws BerthError `failed_precondition / noauth_not_local`.
 */
export function requireLoopback(host: string, config: Pick<AuthConfig, 'auth' | 'noauthAnywhere'>): void {
  if (config.auth !== 'noauth' || config.noauthAnywhere || isLoopback(host)) return;
  throw new BerthError(
    'failed_precondition',
    'noauth_not_local',
    `BERTH_PLACEMENT_AUTH=noauth believes whatever a request says, so it may not listen on ${host}: choose tokens or ` +
      'keystone, listen on 127.0.0.1, or set BERTH_PLACEMENT_NOAUTH_ANYWHERE=true where only friends reach the port',
    { details: { host } },
  );
}

function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '').replace(/^::ffff:/i, '');
  return bare === 'localhost' || bare === '::1' || (isIPv4(bare) && bare.startsWith('127.'));
}
