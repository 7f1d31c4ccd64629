import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Log } from '#libs/runtime/log';
import { noAuth } from './noauth';
import type { AuthConfig } from './options';
import type { Authenticate } from './principal';

/** A strategy in service. */
export interface Auth {
  readonly authenticate: Authenticate;
  /** Drops what is under way with the identity service; requests that wait for it are answered 503. */
  close(): Promise<void>;
}

/**
 * The strategy that the configuration names. Keystone need not be there yet; a file of tokens must be, and be good.
 *
 * @throws BerthError `invalid_argument / bad_config` with everything that the strategy lacks.
 */
export async function openAuth(
  config: AuthConfig,
  _surroundings: { readonly log: Log; readonly clock: Clock },
): Promise<Auth> {
  switch (config.auth) {
    case 'noauth':
      return { authenticate: noAuth, async close() {} };
    case 'tokens':
    case 'keystone':
      throw new BerthError('unimplemented', 'auth_strategy', `${config.auth} is on its way`);
  }
}
