import { withoutCell } from '../contracts/cells';
import type { Identity } from '../contracts/identity';
import type { QueueAddress, QueueSpec } from '../contracts/queues';
import type { BerthError } from '../domain/errors';

/**
 * The message bus as Berth's services see it: bytes with a type, in queues and topics. Adapters: `amqp` (RabbitMQ) and
 * `memory` (one process). Both pass the contract suite in `libs/testing/bus/bus-contract`.
 *
 * Delivery is at least once, everywhere: handlers must be idempotent. What one process casts to one queue arrives in
 * that order, durable and transient casts each in theirs; a message that is given out again may come behind later ones.
 * Payloads are protobuf; `libs/contracts` gives them types, the bus never looks inside.
 */
export interface Bus {
  /**
   * Asks whoever serves `queue` and waits for the answer. The deadline travels as the message's expiration, so a request
   * that nobody took in time is dropped, and handlers learn it.
   *
   * @throws BerthError the handler's own error; `deadline_exceeded` (no answer in time: outcome unknown, ask again with
   *   the same `id`); `unavailable` (the broker is away, or nobody serves the queue); `resource_exhausted` (queue full);
   *   `aborted / cancelled` (the caller's signal).
   */
  call(queue: QueueAddress, message: OutgoingMessage, options: CallOptions): Promise<Uint8Array>;

  /**
   * Puts a message into `queue`; resolves once the broker has it safely. A window of confirms is open, so many casts go on
   * at once.
   *
   * @throws BerthError `unavailable` (not confirmed in time, broker away), `resource_exhausted / queue_full`,
   *   `not_found / no_such_queue`.
   */
  cast(queue: QueueAddress, message: OutgoingMessage, options?: CastOptions): Promise<void>;

  /** Answers calls on `queue`, as one of any number of competing servers. Unknown types are answered `unimplemented`. */
  serve(
    queue: QueueSpec,
    handlers: Readonly<Record<string, CallHandler>>,
    options?: ConsumeOptions,
  ): Promise<Subscription>;

  /**
   * Takes casts from `queue`, as one of any number of competing consumers. What the handler returns settles the message.
   */
  consume(queue: QueueSpec, handler: CastHandler, options?: ConsumeOptions): Promise<Subscription>;

  /** Sends an event to all subscribers of `topic` (words joined by dots), if any. Resolves when the broker has it. */
  publish(topic: string, message: OutgoingMessage): Promise<void>;

  /** Receives events whose topic matches `pattern` (`*` one word, `#` any number), but those sent while disconnected. */
  subscribe(pattern: string, handler: EventHandler): Promise<Subscription>;

  /**
   * Declares a queue without consuming from it, so that casts to it are kept. For an agent or a tenant it does nothing:
   * services declare.
   */
  declare(queue: QueueSpec): Promise<void>;

  /**
   * Messages waiting in a queue; of a batching queue (`QueueSpec.batching`) a lower bound, 0 only when there are none.
   *
   * @throws BerthError `not_found / no_such_queue`.
   */
  depth(queue: string): Promise<number>;

  /**
   * Deletes a queue that nobody consumes from, with what waits there. One that is not there is deleted.
   *
   * @throws BerthError `failed_precondition / queue_in_use`; `permission_denied`; `unavailable`.
   */
  remove(queue: string): Promise<void>;

  /** Whether messages flow now. For readiness; calls say it themselves. */
  isConnected(): boolean;

  /**
   * Ordered drain: consumers are cancelled, running handlers finish and settle (up to `drainTimeoutMs`), open confirms
   * arrive, then the connection closes. Calls still waiting are rejected `unavailable / closing`.
   */
  close(): Promise<void>;
}

export interface OutgoingMessage {
  /** Full protobuf name, `berth.conductor.v1.BuildRequest`. */
  readonly type: string;
  readonly body: Uint8Array;
  /** Who sends, `compute-agent.<host>`: for people, nobody checks it. */
  readonly sender?: string | undefined;
}

export interface CallOptions {
  /** From now, milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Makes a re-sent call recognisable; a new uuid when not given. */
  readonly id?: string;
}

export interface CastOptions {
  /** As `CallOptions.id`. */
  readonly id?: string;
  /** The queue for answers to a cast that wants one (clients' `reply_to`), and what marks the answer. */
  readonly replyTo?: string;
  readonly correlationId?: string;
  /**
   * It need not outlive the broker, because somebody sends it again when it is lost. In a durable classic queue that
   * spares the broker a write and a sync of the disk for each message, most of its work where there are many such queues.
   */
  readonly isTransient?: boolean;
  /**
   * What nobody has taken this long after it was cast is given to nobody any more: it goes to the dead letters with reason
   * `expired`, from a transient queue nowhere. For ever when not given.
   */
  readonly expiresInMs?: number | undefined;
  /** Of a message that a service sends on: whose word it is. Its own when not given. */
  readonly onBehalfOf?: Identity;
}

export interface ConsumeOptions {
  /** Handlers that run at once; as many messages may wait behind them, of a batching queue up to 32 times as many. */
  readonly prefetch?: number;
  /** Settles casts that are refused before they are decoded (`contracts/message-rules.ts`): to the dead letters when not given. */
  readonly refused?: RefusalHandler;
}

/** A message as a handler gets it. */
export interface IncomingMessage {
  readonly type: string;
  readonly body: Uint8Array;
  /** The sender's id of it: the same when it is sent again. */
  readonly id: string;
  /** '' when the sender gave none; not to be relied on, as `identity` is. */
  readonly sender: string;
  /** Who sent it, as the broker knows. */
  readonly identity: Identity;
  /** The client's queue for answers, if it named one. */
  readonly replyTo: string | undefined;
  readonly correlationId: string | undefined;
  /** True when it was given out before: its effects may be stored already. */
  readonly redelivered: boolean;
  /** For how long it has been put off (`postpone`); 0 when it never was. */
  readonly postponedForMs: number;
  /** When the caller stops waiting, or a cast expires, by this process's clock; undefined for casts that do not expire. */
  readonly deadlineMs: number | undefined;
  /** Headers that are text, such as `berth-error-reason` on a dead letter. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Aborts at the deadline, and when the bus closes and does not wait any longer. */
  readonly signal: AbortSignal;
  /** Whether `signal` has aborted, or would have: whoever only looks needs no signal, which costs a timer. */
  readonly isAborted: boolean;
}

/** Settles a message that no handler gets, for the reason given. It may answer its sender. */
export type RefusalHandler = (message: IncomingMessage, error: BerthError) => Promise<Settlement>;

/** Returns the answer, or throws a BerthError that travels to the caller. */
export type CallHandler = (message: IncomingMessage) => Promise<Uint8Array>;

/**
 * How a cast is settled.
 *
 * - `ack`      its effects are stored
 * - `requeue`  not now: give it to somebody (counts against the queue's delivery limit)
 * - `postpone` not now, through no fault of its own: to the end of the queue, not counted, `redelivered` all the same. After
 *              `BERTH_BUS_MAX_POSTPONED_MS` of that it is refused, `postponed_too_long`
 * - `drop`     never: to `dead-letters` with the reason in its headers
 */
export type Settlement =
  | { readonly kind: 'ack' }
  | { readonly kind: 'requeue' }
  | { readonly kind: 'postpone' }
  | { readonly kind: 'drop'; readonly error: BerthError };

export const ACK: Settlement = { kind: 'ack' };
export const REQUEUE: Settlement = { kind: 'requeue' };
export const POSTPONE: Settlement = { kind: 'postpone' };
export function drop(error: BerthError): Settlement {
  return { kind: 'drop', error };
}

/** A handler that throws requeues, once; the second throw on a redelivered message drops it. */
export type CastHandler = (message: IncomingMessage) => Promise<Settlement>;

export type EventHandler = (topic: string, message: IncomingMessage) => void;

export interface Subscription {
  /** Stops deliveries and waits for running handlers to settle. */
  cancel(): Promise<void>;
}

/** Where dropped messages go. Headers: `berth-error-code`, `berth-error-reason`, `berth-error-message`, `berth-queue`. */
export const DEAD_LETTERS = 'dead-letters';

/** Whether a queue is the dead letters of some cell. */
export function isDeadLetters(queue: string): boolean {
  return withoutCell(queue) === DEAD_LETTERS;
}
