import type { Identity } from '../../contracts/identity';
import type { Clock } from '../../domain/clock';
import { BerthError } from '../../domain/errors';
import type { IncomingMessage } from '../port';

/** A message's properties, as an adapter delivers it. */
export type DeliveryFields = Omit<IncomingMessage, 'signal' | 'isAborted' | 'headers' | 'postponedForMs'> & {
  readonly headers: Readonly<Record<string, string>>;
  /** Number of deliveries, including this one, as far as the queue counts. */
  readonly deliveries: number;
  /** True when the broker delivered this very copy before. */
  readonly isGivenBack?: boolean;
  /** When it was first postponed, by the clock of that process; undefined if never. */
  readonly postponedAtMs?: number | undefined;
  /** Why it can't be handled. */
  readonly defect?: BerthError | undefined;
};

/**
 * A message in a handler. Its signal, and the timer of its deadline, are created on first use: most handlers never use
 * them, and they would cost more than everything else.
 */
export class Delivery implements IncomingMessage {
  readonly type: string;
  readonly body: Uint8Array;
  readonly id: string;
  readonly sender: string;
  readonly identity: Identity;
  readonly replyTo: string | undefined;
  readonly correlationId: string | undefined;
  readonly redelivered: boolean;
  readonly deadlineMs: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly deliveries: number;
  readonly isGivenBack: boolean;
  /** Never in the future, whatever its sender claims. */
  readonly postponedAtMs: number | undefined;
  readonly defect: BerthError | undefined;
  readonly #clock: Clock;
  #controller: AbortController | undefined;
  #abortReason: BerthError | undefined;
  #cancelTimer: (() => void) | undefined;
  #isFinished = false;

  constructor(fields: DeliveryFields, clock: Clock) {
    this.type = fields.type;
    this.body = fields.body;
    this.id = fields.id;
    this.sender = fields.sender;
    this.identity = fields.identity;
    this.replyTo = fields.replyTo;
    this.correlationId = fields.correlationId;
    this.redelivered = fields.redelivered;
    this.deadlineMs = fields.deadlineMs;
    this.headers = fields.headers;
    this.deliveries = fields.deliveries;
    this.isGivenBack = fields.isGivenBack ?? false;
    this.defect = fields.defect;
    this.postponedAtMs = fields.postponedAtMs && Math.min(fields.postponedAtMs, clock.now());
    this.#clock = clock;
  }

  get postponedForMs(): number {
    return this.postponedAtMs === undefined ? 0 : this.#clock.now() - this.postponedAtMs;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason);
      else this.#watchDeadline();
    }
    return this.#controller.signal;
  }

  get isAborted(): boolean {
    return this.#abortReason !== undefined || this.isExpired;
  }

  /** True when the caller has stopped waiting. */
  get isExpired(): boolean {
    return this.deadlineMs !== undefined && this.#clock.elapsed() >= this.deadlineMs;
  }

  /** Aborts the handler's signal: its answer is no longer wanted. */
  abort(reason: BerthError): void {
    this.#abortReason ??= reason;
    this.#controller?.abort(reason);
  }

  /** The handler has ended and needs no signal any more. */
  finish(): void {
    this.#isFinished = true;
    this.#cancelTimer?.();
  }

  #watchDeadline(): void {
    if (this.deadlineMs === undefined || this.#isFinished) return;
    const leftMs = Math.max(0, this.deadlineMs - this.#clock.elapsed());
    this.#cancelTimer = this.#clock.after(leftMs, () =>
      this.abort(new BerthError('deadline_exceeded', 'caller_gone', 'the caller has stopped waiting for the answer')),
    );
  }
}
