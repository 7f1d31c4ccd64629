import { decodeError, ERROR_TYPE } from '../../contracts/error';
import type { Clock } from '../../domain/clock';
import { BerthError } from '../../domain/errors';
import { cancelled } from '../errors';
import type { CallOptions } from '../port';

interface Waiter {
  resolve(answer: Uint8Array): void;
  reject(error: BerthError): void;
  /** Removes the timer and the listener on the caller's signal. */
  release(): void;
}

/** The calls of one bus that wait for answers, by correlation id. Each settles exactly once. */
export class PendingCalls {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Waiter>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#waiting.size;
  }

  has(correlationId: string): boolean {
    return this.#waiting.has(correlationId);
  }

  /**
   * Waits for the answer to a call that is about to be sent to `queue` and is not cancelled yet. Errors as in
   * `Bus.call`.
   */
  wait(correlationId: string, queue: string, options: CallOptions): Promise<Uint8Array> {
    const { signal, timeoutMs } = options;
    return new Promise((resolve, reject) => {
      const cancelTimer = this.#clock.after(timeoutMs, () => this.fail(correlationId, timedOut(queue, timeoutMs)));
      const onAbort = signal && (() => this.fail(correlationId, cancelled(queue)));
      if (onAbort) signal.addEventListener('abort', onAbort, { once: true });
      const release = () => {
        cancelTimer();
        if (onAbort) signal.removeEventListener('abort', onAbort);
      };
      this.#waiting.set(correlationId, { resolve, reject, release });
    });
  }

  /** Settles a call with its answer or error; ignores a late one. */
  answer(correlationId: string, type: string, body: Uint8Array): void {
    const waiter = this.#take(correlationId);
    if (waiter === undefined) return;
    if (type === ERROR_TYPE) waiter.reject(decodeError(body));
    else waiter.resolve(body);
  }

  fail(correlationId: string, error: BerthError): void {
    this.#take(correlationId)?.reject(error);
  }

  failAll(error: BerthError): void {
    for (const correlationId of this.#waiting.keys()) this.fail(correlationId, error);
  }

  #take(correlationId: string): Waiter | undefined {
    const waiter = this.#waiting.get(correlationId);
    if (waiter === undefined) return undefined;
    this.#waiting.delete(correlationId);
    waiter.release();
    return waiter;
  }
}

function timedOut(queue: string, timeoutMs: number): BerthError {
  return new BerthError(
    'deadline_exceeded',
    'no_answer',
    `'${queue}' gave no answer within ${timeoutMs} ms; the outcome is unknown: ask again with the same id`,
  );
}
