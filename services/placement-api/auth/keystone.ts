import { LRUCache } from 'lru-cache';
import type { Clock } from '#libs/domain/clock';
import type { Log } from '#libs/runtime/log';
import { HttpError } from '../http/http-error';
import type { Auth } from './auth';
import { headerOf } from './headers';
import { identityAway, KeystoneHttp } from './keystone-http';
import { KeystoneLogin } from './keystone-login';
import type { AuthConfig } from './options';
import type { Principal } from './principal';
import { sha256Of } from './token-file';
import { type Verdict, validateToken } from './validate-token';

/** Beyond any token of Keystone's (Fernet: 250 characters), and within the headers that its servers take. */
const TOKEN = /^[\x21-\x7e]{1,2048}$/;

/**
 * Asks Keystone (v3) who a token stands for, and remembers the answer under the token's hash: good tokens for a while but
 * never beyond their expiry, refused ones for a short while, each kind apart, so that a flood of bad tokens drives no good
 * one out. Requests with the same token at the same time wait for one call. While Keystone is away, remembered tokens
 * stay good, and all others are answered 503.
 */
export function openKeystone(config: AuthConfig, { clock, log }: { readonly clock: Clock; readonly log: Log }): Auth {
  const http = new KeystoneHttp(config.keystoneUrl, { timeoutMs: config.keystoneTimeoutMs, clock, log });
  const login = new KeystoneLogin(http, config, { retryMs: config.keystoneRefusedCacheMs, clock, log });
  const good = rememberTokens<Principal>(config, clock);
  const refused = rememberTokens<true>(config, clock);
  const underWay = new Map<string, Promise<Verdict>>();
  const signIn = { 'www-authenticate': `Keystone uri="${config.keystonePublicUrl || config.keystoneUrl}"` };

  const ask = async (key: string, token: string): Promise<Verdict> => {
    const verdict = await validateToken(token, { http, login, log });
    if (verdict.kind === 'refused' || verdict.expiresAtMs <= clock.now()) {
      refused.remember(key, true, config.keystoneRefusedCacheMs);
      return { kind: 'refused' };
    }
    good.remember(key, verdict.principal, Math.min(config.keystoneCacheMs, verdict.expiresAtMs - clock.now()));
    return verdict;
  };
  const askOnce = (key: string, token: string): Promise<Verdict> => {
    const asked = underWay.get(key);
    if (asked !== undefined) return asked;
    if (underWay.size >= config.keystoneMaxValidations) throw identityAway();
    const asking = ask(key, token).finally(() => underWay.delete(key));
    underWay.set(key, asking);
    return asking;
  };

  return {
    async authenticate(headers) {
      const token = headerOf(headers, 'x-auth-token');
      if (token === undefined) throw unauthorized('A token is needed: x-auth-token', signIn);
      const key = sha256Of(token).toString('base64');
      const known = good.recall(key);
      if (known !== undefined) return known;
      const isHopeless = !TOKEN.test(token) || refused.recall(key) !== undefined;
      const verdict: Verdict = isHopeless ? { kind: 'refused' } : await askOnce(key, token);
      if (verdict.kind === 'refused') throw unauthorized('The token is not good, or not any more.', signIn);
      return verdict.principal;
    },
    async close() {
      http.close();
      await Promise.allSettled(underWay.values());
    },
  };
}

function unauthorized(detail: string, headers: Readonly<Record<string, string>>): HttpError {
  return new HttpError(401, detail, undefined, headers);
}

function rememberTokens<V>({ keystoneCachedTokens: max }: AuthConfig, clock: Clock) {
  const cache = new LRUCache<string, { readonly value: V; readonly untilMs: number }>({ max });
  return {
    recall(key: string): V | undefined {
      const known = cache.get(key);
      return known !== undefined && clock.now() < known.untilMs ? known.value : undefined;
    },
    remember(key: string, value: V, durationMs: number): void {
      cache.set(key, { value, untilMs: clock.now() + durationMs });
    },
  };
}
