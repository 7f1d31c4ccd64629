import { AuthError } from '#libs/auth/auth-error';
import { KeystoneHttp } from '#libs/auth/keystone-http';
import { KeystoneLogin } from '#libs/auth/keystone-login';
import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { ConfigOf } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import type { importOptions } from './options';

/** The token for one placement API, renewed where that is possible. */
export interface Tokens {
  /** @throws BerthError `permission_denied / keystone_refused` */
  token(): Promise<string>;
  /** Drops a token that the API refused; false when there is no other to be had. */
  renew(token: string): boolean;
}

export function fixedToken(text: string): Tokens {
  return { token: async () => text, renew: () => false };
}

/** Tokens of a Keystone user, which last as long as the import. */
export function keystoneTokens(
  config: ConfigOf<typeof importOptions>,
  { timeoutMs, clock }: { readonly timeoutMs: number; readonly clock: Clock },
): Tokens {
  const at = { keystoneUrl: config.keystoneUrl, keystoneTimeoutMs: timeoutMs };
  const deps = { clock, log: silentLog };
  const user = {
    keystoneUsername: config.username,
    keystonePassword: config.password,
    keystoneProject: config.project,
    keystoneUserDomain: config.userDomain,
    keystoneProjectDomain: config.projectDomain,
    keystoneRefusedCacheMs: 0,
  };
  const login = new KeystoneLogin(new KeystoneHttp(at, deps), { ...at, ...user }, deps);
  return {
    async token() {
      try {
        return await login.token();
      } catch (thrown) {
        if (!(thrown instanceof AuthError)) throw thrown;
        const hint = 'check BERTH_IMPORT_KEYSTONE_URL, _USERNAME, _PASSWORD, _PROJECT and the domains';
        const message = `Keystone at ${config.keystoneUrl} is unavailable, or refuses the user ${config.username}`;
        throw new BerthError('permission_denied', 'keystone_refused', message, { details: { hint } });
      }
    },
    renew(token) {
      login.forget(token);
      return true;
    },
  };
}
