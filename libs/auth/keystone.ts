import { lru } from '#libs/runtime/lru';
import type { Clock } from '../domain/clock';
import type { RuntimeDeps } from '../runtime/service';
import type { Auth, AuthProblem, Principal } from './auth';
import { AuthError } from './auth-error';
import { headerOf } from './header';
import { identityAway, KeystoneHttp } from './keystone-http';
import { KeystoneLogin } from './keystone-login';
import { readTokenFacts, type TokenFacts } from './keystone-token';
import type { AuthConfig } from './options';
import { sha256Of } from './token-file';

/** Longer than any token of Keystone's (Fernet: 250 characters), and within the header limits of its servers. */
const TOKEN = /^[\x21-\x7e]{1,2048}$/;

/**
 * Validates tokens with Keystone (v3) and caches the answers by the token's hash: valid tokens for a while but never beyond
 * their expiry, refused ones for a short while, in separate caches, so that a flood of bad tokens evicts no valid one.
 * Concurrent requests with the same token share one call. While Keystone is unavailable, cached tokens stay valid, and
 * requests with others are answered 503.
 */
export function openKeystone(config: AuthConfig, deps: Pick<RuntimeDeps, 'clock' | 'log'>): Auth {
  const { clock, log } = deps;
  const http = new KeystoneHttp(config, deps);
  const login = new KeystoneLogin(http, config, deps);
  const good = tokenCache<Principal>(config, clock);
  const refused = tokenCache<true>(config, clock);
  const underWay = new Map<string, Promise<Verdict>>();
  let isValidationRefused = false;
  const signIn = { 'www-authenticate': `Keystone uri="${config.keystonePublicUrl || config.keystoneUrl}"` };

  const ask = async (key: string, token: string): Promise<Verdict> => {
    const validation = await validateToken(token, http, login);
    if (validation.kind === 'not_permitted') {
      const message = 'Keystone refuses to validate tokens: the user of this service needs the role service or admin';
      log.error({ event: 'keystone_forbidden', status: validation.status }, message);
      isValidationRefused = true;
      throw identityAway();
    }
    isValidationRefused = false;
    if (validation.kind === 'refused' || validation.expiresAtMs <= clock.now()) {
      refused.remember(key, true, config.keystoneRefusedCacheMs);
      return { kind: 'refused' };
    }
    good.remember(key, validation.principal, Math.min(config.keystoneCacheMs, validation.expiresAtMs - clock.now()));
    return validation;
  };
  const askOnce = (key: string, token: string): Promise<Verdict> => {
    const asked = underWay.get(key);
    if (asked !== undefined) return asked;
    if (underWay.size >= config.keystoneMaxValidations) throw identityAway();
    const asking = ask(key, token).finally(() => underWay.delete(key));
    underWay.set(key, asking);
    return asking;
  };

  const problem = (): AuthProblem | undefined => {
    if (login.state() === 'refused') return 'login_refused';
    if (http.isUnavailable) return 'keystone_unavailable';
    return isValidationRefused ? 'validation_refused' : undefined;
  };

  return {
    problem,
    readiness() {
      const state = login.state();
      if (state === 'refused') return { ready: false, reason: 'Keystone refuses the credentials of this service' };
      return state === 'unknown' ? { ready: false, reason: 'logging in to Keystone' } : { ready: true };
    },
    async authenticate(headers) {
      const token = headerOf(headers, 'x-auth-token');
      if (token === undefined) throw unauthorized('A token is needed: x-auth-token', signIn);
      const key = sha256Of(token).toString('base64');
      const known = good.recall(key);
      if (known !== undefined) return known;
      const isKnownBad = !TOKEN.test(token) || refused.recall(key) !== undefined;
      const validation: Verdict = isKnownBad ? { kind: 'refused' } : await askOnce(key, token);
      if (validation.kind === 'refused') throw unauthorized('The token is invalid or has expired.', signIn);
      return validation.principal;
    },
    async close() {
      http.close();
      await Promise.allSettled(underWay.values());
    },
  };
}

/** The verdict on a token. */
type Verdict = ({ readonly kind: 'good' } & TokenFacts) | { readonly kind: 'refused' };
/** Keystone's answer about a token. */
type Validation = Verdict | { readonly kind: 'not_permitted'; readonly status: number };

/**
 * Asks Keystone about a token; once again with a new token of this service when Keystone refuses the present one.
 *
 * @throws AuthError 503 when Keystone is unavailable, or refuses the credentials of this service.
 */
async function validateToken(token: string, http: KeystoneHttp, login: KeystoneLogin): Promise<Validation> {
  const ask = async () => {
    const own = await login.token();
    const headers = { 'x-auth-token': own, 'x-subject-token': token };
    const answer = await http.call({ method: 'GET', path: '/auth/tokens?nocatalog', headers });
    if (answer.status === 401) login.forget(own);
    return answer;
  };
  const first = await ask();
  const { status, body } = first.status === 401 ? await ask() : first;
  const facts = status === 200 ? readTokenFacts(body) : undefined;
  if (facts !== undefined) return { kind: 'good', ...facts };
  return status === 404 ? { kind: 'refused' } : { kind: 'not_permitted', status };
}

function unauthorized(detail: string, headers: Readonly<Record<string, string>>): AuthError {
  return new AuthError(401, detail, headers);
}

function tokenCache<V>({ keystoneCachedTokens: max }: AuthConfig, clock: Clock) {
  const cache = lru<string, { readonly value: V; readonly untilMs: number }>(max);
  return {
    recall(key: string): V | undefined {
      const known = cache.get(key);
      return known !== undefined && clock.elapsed() < known.untilMs ? known.value : undefined;
    },
    remember(key: string, value: V, durationMs: number): void {
      cache.set(key, { value, untilMs: clock.elapsed() + durationMs });
    },
  };
}
