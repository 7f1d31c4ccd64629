import type { Log } from '#libs/runtime/log';
import { identityAway, type KeystoneHttp } from './keystone-http';
import type { KeystoneLogin } from './keystone-login';
import { readTokenFacts, type TokenFacts } from './keystone-token';

/** What Keystone says of a token. */
export type Verdict = ({ readonly kind: 'good' } & TokenFacts) | { readonly kind: 'refused' };

/**
 * Asks Keystone about a token, a second time with a new token of this service when it refuses the one that we had.
 *
 * @throws HttpError 503 when Keystone is away, or does not let this service ask.
 */
export async function validateToken(
  token: string,
  { http, login, log }: { readonly http: KeystoneHttp; readonly login: KeystoneLogin; readonly log: Log },
): Promise<Verdict> {
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
  if (status === 404) return { kind: 'refused' };
  log.error({ status }, 'Keystone does not tell this service about tokens: its user needs the role service or admin');
  throw identityAway();
}
