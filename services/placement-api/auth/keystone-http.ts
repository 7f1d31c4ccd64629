import type { Clock } from '#libs/domain/clock';
import type { Log } from '#libs/runtime/log';
import { HttpError } from '../http/http-error';

/** What Keystone answered, whatever its status. */
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

interface HttpSurroundings {
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** Calls to Keystone, each within a time. The log tells when it goes away and when it is back, not each call that fails. */
export class KeystoneHttp {
  readonly #root: string;
  readonly #timeoutMs: number;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #underWay = new Set<AbortController>();
  #isAway = false;
  #isClosed = false;

  /** @param url as it is configured, with or without /v3 */
  constructor(url: string, { timeoutMs, clock, log }: HttpSurroundings) {
    this.#root = `${url.replace(/\/+$/, '').replace(/\/v3$/, '')}/v3`;
    this.#timeoutMs = timeoutMs;
    this.#clock = clock;
    this.#log = log;
  }

  /** @throws HttpError 503 when no answer came in time, or one of a server in trouble (5xx, 429). */
  async call(call: KeystoneCall): Promise<KeystoneAnswer> {
    const abort = new AbortController();
    const giveUp = () => abort.abort(new Error(`no answer within ${this.#timeoutMs} ms`));
    const cancel = this.#clock.after(this.#timeoutMs, giveUp);
    this.#underWay.add(abort);
    try {
      if (this.#isClosed) throw new Error('closed');
      const answer = await this.#fetch(call, abort.signal);
      this.#tellBack();
      return answer;
    } catch (thrown) {
      this.#tellAway(thrown);
      throw identityAway();
    } finally {
      this.#underWay.delete(abort);
      cancel();
    }
  }

  /** Ends the calls under way and refuses others. */
  close(): void {
    this.#isClosed = true;
    for (const abort of this.#underWay) abort.abort(new Error('closed'));
  }

  async #fetch({ method, path, headers = {}, body }: KeystoneCall, signal: AbortSignal): Promise<KeystoneAnswer> {
    const response = await fetch(this.#root + path, {
      method,
      headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
      body: body === undefined ? null : JSON.stringify(body),
      // Followed, a redirect would carry tokens to wherever it points.
      redirect: 'manual',
      signal,
    });
    const text = await response.text();
    if (response.status >= 500 || response.status === 429) throw new Error(`it answered ${response.status}`);
    const issuedToken = response.headers.get('x-subject-token') ?? undefined;
    return { status: response.status, issuedToken, body: jsonOf(text) };
  }

  #tellAway(thrown: unknown): void {
    if (this.#isAway || this.#isClosed) return;
    this.#isAway = true;
    const { message, cause } = thrown as Error;
    const why = cause instanceof Error ? cause.message : message;
    this.#log.error({ keystone: this.#root, why }, 'Keystone is away: tokens that are not remembered are answered 503');
  }

  #tellBack(): void {
    if (this.#isAway) this.#log.info({ keystone: this.#root }, 'Keystone is back');
    this.#isAway = false;
  }
}

/** The refusal of a request whose token can't be looked at now. */
export function identityAway(): HttpError {
  return new HttpError(503, 'The identity service can not be asked about the token now.');
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
