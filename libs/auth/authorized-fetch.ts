import { fetchJson, type JsonAnswer, type JsonRequest } from '../runtime/fetch-json';
import type { KeystoneLogin } from './keystone-login';

/** Tokens of a service's user. */
export type Tokens = Pick<KeystoneLogin, 'token' | 'forget'>;

/** Sends a request with a token; once more with another one when that is refused. */
export async function authorizedFetch(tokens: Tokens, url: string, request: JsonRequest): Promise<JsonAnswer> {
  for (let attempt = 1; ; attempt++) {
    const token = await tokens.token();
    const answer = await fetchJson(url, { ...request, headers: { ...request.headers, 'x-auth-token': token } });
    if (answer.status !== 401 || attempt === 2) return answer;
    tokens.forget(token);
  }
}
