import type { Clock } from '#libs/domain/clock';
import type { Log } from '#libs/runtime/log';
import { identityAway, type KeystoneHttp } from './keystone-http';
import { readTokenFacts } from './keystone-token';
import type { AuthConfig } from './options';

/** The credentials of this service. */
export type Credentials = Pick<
  AuthConfig,
  'keystoneUsername' | 'keystonePassword' | 'keystoneProject' | 'keystoneUserDomain' | 'keystoneProjectDomain'
>;

/** A token this close to its expiry is replaced before the next call. */
const RENEW_BEFORE_MS = 30_000;

/**
 * The token of this service itself, issued at first use and again when it expires or Keystone refuses it. Concurrent
 * callers share one call. Refused credentials are not sent again for `retryMs`, because Keystone may lock the user out.
 */
export class KeystoneLogin {
  readonly #http: KeystoneHttp;
  readonly #credentials: Credentials;
  readonly #retryMs: number;
  readonly #clock: Clock;
  readonly #log: Log;
  #token: { readonly text: string; readonly expiresAtMs: number } | undefined;
  #issuing: Promise<string> | undefined;
  #refusedUntilMs = 0;

  constructor(
    http: KeystoneHttp,
    credentials: Credentials,
    surroundings: { readonly retryMs: number; readonly clock: Clock; readonly log: Log },
  ) {
    this.#http = http;
    this.#credentials = credentials;
    this.#retryMs = surroundings.retryMs;
    this.#clock = surroundings.clock;
    this.#log = surroundings.log;
  }

  /** @throws HttpError 503 when Keystone is unavailable or refuses the credentials. */
  async token(): Promise<string> {
    const token = this.#token;
    if (token !== undefined && token.expiresAtMs - RENEW_BEFORE_MS > this.#clock.now()) return token.text;
    this.#issuing ??= this.#issue().finally(() => {
      this.#issuing = undefined;
    });
    return this.#issuing;
  }

  /** Drops a token that Keystone refuses; a newer one stays. */
  forget(token: string): void {
    if (this.#token?.text === token) this.#token = undefined;
  }

  async #issue(): Promise<string> {
    if (this.#clock.now() < this.#refusedUntilMs) throw identityAway();
    const body = loginBody(this.#credentials);
    const answer = await this.#http.call({ method: 'POST', path: '/auth/tokens?nocatalog', body });
    const facts = readTokenFacts(answer.body);
    if (answer.status !== 201 || answer.issuedToken === undefined || facts === undefined) {
      this.#refusedUntilMs = this.#clock.now() + this.#retryMs;
      const { keystoneUsername: user, keystoneProject: project } = this.#credentials;
      this.#log.error(
        { event: 'keystone_login_refused', user, project, status: answer.status },
        'Keystone refuses the credentials of this service',
      );
      throw identityAway();
    }
    this.#token = { text: answer.issuedToken, expiresAtMs: facts.expiresAtMs };
    return answer.issuedToken;
  }
}

function loginBody(credentials: Credentials) {
  const { keystoneUsername, keystonePassword, keystoneProject, keystoneUserDomain, keystoneProjectDomain } =
    credentials;
  const user = { name: keystoneUsername, password: keystonePassword, domain: { name: keystoneUserDomain } };
  const project = { name: keystoneProject, domain: { name: keystoneProjectDomain } };
  return { auth: { identity: { methods: ['password'], password: { user } }, scope: { project } } };
}
