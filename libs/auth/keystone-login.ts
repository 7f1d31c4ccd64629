import type { RuntimeDeps } from '../runtime/service';
import { identityAway, type KeystoneConfig, type KeystoneHttp } from './keystone-http';
import { readTokenFacts } from './keystone-token';
import type { AuthConfig } from './options';

/** The user of a service, and how it meets Keystone. */
export type LoginConfig = KeystoneConfig &
  Pick<
    AuthConfig,
    | 'keystoneUsername'
    | 'keystonePassword'
    | 'keystoneProject'
    | 'keystoneUserDomain'
    | 'keystoneProjectDomain'
    | 'keystoneRefusedCacheMs'
  >;

/** A token this close to its expiry is replaced before the next call. */
const RENEW_BEFORE_MS = 30_000;

/**
 * The token of this service itself, issued at first use and again when it expires or Keystone refuses it. Concurrent
 * callers share one call. Refused credentials are not sent again for a while, because Keystone may lock the user out.
 */
export class KeystoneLogin {
  #token: { readonly text: string; readonly expiresAtMs: number } | undefined;
  #issuing: Promise<string> | undefined;
  #refusedUntilMs = 0;
  #state: 'unknown' | 'accepted' | 'refused' | 'unavailable' = 'unknown';

  constructor(
    private readonly http: KeystoneHttp,
    private readonly config: LoginConfig,
    private readonly deps: Pick<RuntimeDeps, 'clock' | 'log'>,
  ) {}

  /**
   * The outcome of the last login. Without a token it begins the next one, so that whoever asks again and again (a
   * readiness probe) hears of wrong credentials before a client does, and of their mending without a client.
   */
  state(): 'unknown' | 'accepted' | 'refused' | 'unavailable' {
    this.token().catch(() => {});
    return this.#state;
  }

  /** @throws AuthError 503 when Keystone is unavailable or refuses the credentials. */
  async token(): Promise<string> {
    const token = this.#token;
    if (token !== undefined && token.expiresAtMs - RENEW_BEFORE_MS > this.deps.clock.now()) return token.text;
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
    const { clock, log } = this.deps;
    if (clock.elapsed() < this.#refusedUntilMs) throw identityAway();
    const body = loginBody(this.config);
    const answer = await this.http.call({ method: 'POST', path: '/auth/tokens?nocatalog', body }).catch((thrown) => {
      if (this.#state === 'unknown') this.#state = 'unavailable';
      throw thrown;
    });
    const facts = readTokenFacts(answer.body);
    if (answer.status !== 201 || answer.issuedToken === undefined || facts === undefined) {
      const { keystoneUsername: user, keystoneProject: project, keystoneRefusedCacheMs: retryMs } = this.config;
      this.#refusedUntilMs = clock.elapsed() + retryMs;
      const fields = { event: 'keystone_login_refused', user, project, status: answer.status };
      this.#state = 'refused';
      log.error(
        fields,
        'Keystone refuses the credentials of this service, requests with tokens that are not cached are answered 503: ' +
          'check BERTH_PLACEMENT_KEYSTONE_USERNAME, _PASSWORD, _PROJECT and the domains',
      );
      throw identityAway();
    }
    if (this.#state === 'refused')
      log.info({ event: 'keystone_login_accepted' }, 'Keystone accepts the credentials again');
    this.#state = 'accepted';
    this.#token = { text: answer.issuedToken, expiresAtMs: facts.expiresAtMs };
    return answer.issuedToken;
  }
}

function loginBody(config: LoginConfig) {
  const { keystoneUsername: name, keystonePassword: password } = config;
  const user = { name, password, domain: { name: config.keystoneUserDomain } };
  const project = { name: config.keystoneProject, domain: { name: config.keystoneProjectDomain } };
  return { auth: { identity: { methods: ['password'], password: { user } }, scope: { project } } };
}
