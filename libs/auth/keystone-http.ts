import { fetchJson } from '../runtime/fetch-json';
import type { RuntimeDeps } from '../runtime/service';
import { AuthError } from './auth-error';
import type { AuthConfig } from './options';

/** An answer of Keystone's, of any status. */
export interface KeystoneAnswer {
  readonly status: number;
  /** The token in the header of an answer that issues one. */
  readonly issuedToken: string | undefined;
  /** Undefined when the body is no JSON. */
  readonly body: unknown;
}

export interface KeystoneCall {
  readonly method: 'GET' | 'POST';
  /** Below /v3: `/auth/tokens`. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Keystone's address and the time limit of its answers. */
export type KeystoneConfig = Pick<AuthConfig, 'keystoneUrl' | 'keystoneTimeoutMs'>;

/** Calls to Keystone, each with a deadline. Logs when Keystone becomes unavailable and available, not each failed call. */
export class KeystoneHttp {
  readonly #root: string;
  readonly #underWay = new Set<AbortController>();
  #isUnavailable = false;
  #isClosed = false;

  constructor(
    private readonly config: KeystoneConfig,
    private readonly deps: Pick<RuntimeDeps, 'clock' | 'log'>,
  ) {
    this.#root = `${config.keystoneUrl.replace(/\/+$/, '').replace(/\/v3$/, '')}/v3`;
  }

  /** True after a call without a proper answer, until the next proper one. */
  get isUnavailable(): boolean {
    return this.#isUnavailable;
  }

  /** @throws AuthError 503 when there is no answer in time, or status 5xx or 429. */
  async call(call: KeystoneCall): Promise<KeystoneAnswer> {
    const { keystoneTimeoutMs: timeoutMs } = this.config;
    const abort = new AbortController();
    const cancel = this.deps.clock.after(timeoutMs, () => abort.abort(new Error(`no answer within ${timeoutMs} ms`)));
    this.#underWay.add(abort);
    try {
      if (this.#isClosed) throw new Error('closed');
      const answer = await this.#fetch(call, abort.signal);
      this.#noteAvailable();
      return answer;
    } catch (thrown) {
      this.#noteUnavailable(thrown);
      throw identityAway();
    } finally {
      this.#underWay.delete(abort);
      cancel();
    }
  }

  /** Aborts the calls under way and refuses new ones. */
  close(): void {
    this.#isClosed = true;
    for (const abort of this.#underWay) abort.abort(new Error('closed'));
  }

  async #fetch({ method, path, headers = {}, body }: KeystoneCall, signal: AbortSignal): Promise<KeystoneAnswer> {
    const answer = await fetchJson(this.#root + path, { method, headers, body, signal });
    if (answer.status >= 500 || answer.status === 429) throw new Error(`it answered ${answer.status}`);
    const issuedToken = answer.headers.get('x-subject-token') ?? undefined;
    return { status: answer.status, issuedToken, body: answer.body };
  }

  #noteUnavailable(thrown: unknown): void {
    if (this.#isUnavailable || this.#isClosed) return;
    this.#isUnavailable = true;
    const { message, cause } = thrown as Error;
    const why = cause instanceof Error ? cause.message : message;
    this.deps.log.error(
      { event: 'keystone_unavailable', keystone: this.#root, why },
      'Keystone unavailable: requests with tokens that are not cached are answered 503',
    );
  }

  #noteAvailable(): void {
    if (!this.#isUnavailable) return;
    this.#isUnavailable = false;
    this.deps.log.info({ event: 'keystone_available', keystone: this.#root }, 'Keystone available again');
  }
}

/** The refusal of a request whose token can't be validated now. */
export function identityAway(): AuthError {
  return new AuthError(503, 'The identity service is unavailable; the token can not be validated now.');
}
