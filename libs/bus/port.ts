import { withoutCell } from '../contracts/cells';
import type { Identity } from '../contracts/identity';
import type { QueueAddress, QueueSpec } from '../contracts/queues';
import type { BerthError } from '../domain/errors';
import type { Readiness } from '../runtime/service';

/**
 * The message bus as Berth's services see it: bytes with a type, in queues and topics. Adapters: `amqp` (RabbitMQ) and
 * `memory` (one process). Both pass the contract suite in `libs/testing/bus/bus-contract`.
 *
 * Delivery is at least once, everywhere: handlers must be idempotent. Casts of one process to one queue arrive in
 * order, durable and transient ones each in theirs; a redelivered message may come behind later ones. Payloads are
 * protobuf; `libs/contracts` gives them types, the bus never looks inside.
 */
export interface Bus {
  /**
   * Calls a server of `queue` and waits for the answer. The deadline travels as the message's expiration, so a request
   * not taken in time is dropped, and handlers know the deadline.
   *
   * @throws BerthError the handler's own error; `deadline_exceeded` (no answer in time: outcome unknown, ask again with
   *   the same `id`); `unavailable` (the broker is away, or nobody serves the queue); `resource_exhausted` (queue
   *   full); `aborted / cancelled` (the caller's signal).
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

  /**
   * Answers calls on `queue`, as one of any number of competing servers. Unknown types are answered `unimplemented`.
   */
  serve(
    queue: QueueSpec,
    handlers: Readonly<Record<string, CallHandler>>,
    options?: ConsumeOptions,
  ): Promise<Subscription>;

  /**
   * Takes casts from `queue`, as one of any number of competing consumers. The handler's result settles the message.
   */
  consume(queue: QueueSpec, handler: CastHandler, options?: ConsumeOptions): Promise<Subscription>;

  /** Sends an event to all subscribers of `topic` (words joined by dots), if any. Resolves when the broker has it. */
  publish(topic: string, message: OutgoingMessage): Promise<void>;

  /**
   * Receives events whose topic matches `pattern` (`*` one word, `#` any number), except those sent while disconnected.
   */
  subscribe(pattern: string, handler: EventHandler): Promise<Subscription>;

  /**
   * Declares a queue without consuming from it, so that casts to it are kept. A no-op for agents and tenants: services
   * declare. It is declared again when somebody deletes it, but for `isOnce`.
   */
  declare(queue: QueueSpec, options?: DeclareOptions): Promise<void>;

  /**
   * Messages waiting in a queue; for a batching queue (`QueueSpec.batching`) a lower bound, 0 only when it is empty.
   *
   * @throws BerthError `not_found / no_such_queue`.
   */
  depth(queue: string): Promise<number>;

  /** The count of messages taken from a queue so far, refused ones included, in the unit of `depth`. */
  taken(queue: string): number;

  /**
   * Deletes a queue without consumers, with its messages. Deleting a missing queue succeeds.
   *
   * @throws BerthError `failed_precondition / queue_in_use`; `permission_denied`; `unavailable`.
   */
  remove(queue: string): Promise<void>;

  /** True while messages flow; calls report it themselves. */
  isConnected(): boolean;

  /** The same for the readiness of a process, with the reason. */
  readiness(): Readiness;

  /**
   * Ordered drain: consumers are cancelled, running handlers finish and settle (up to `drainTimeoutMs`), open confirms
   * arrive, then the connection closes. Calls still waiting are rejected `unavailable / closing`.
   */
  close(): Promise<void>;
}

export interface DeclareOptions {
  /** The queue is another process's, and may go with it. */
  readonly isOnce?: boolean;
}

export interface OutgoingMessage {
  /** Full protobuf name, `berth.conductor.v1.BuildRequest`. */
  readonly type: string;
  readonly body: Uint8Array;
  /** Name of the sending process, `compute-agent.<host>`: for people, unchecked. */
  readonly sender?: string | undefined;
}

export interface CallOptions {
  /** Time limit of the call. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Identifies a resent call; default: a new uuid. */
  readonly id?: string;
}

export interface CastOptions {
  /** Identifies a resent cast; default: a new uuid. */
  readonly id?: string;
  /** The sender's queue for an answer (clients' `reply_to`), and the answer's correlation. */
  readonly replyTo?: string;
  readonly correlationId?: string;
  /**
   * True when the message need not survive the broker, because its sender resends it. In a durable classic queue that
   * saves the broker a write and a disk sync per message, most of its work where there are many such queues.
   */
  readonly isTransient?: boolean;
  /**
   * An untaken message is dead-lettered with reason `expired` after this time; in a transient queue it is dropped.
   * Default: never.
   */
  readonly expiresInMs?: number | undefined;
  /** The original sender of a message that a service forwards; default: the service. */
  readonly onBehalfOf?: Identity;
}

export interface ConsumeOptions {
  /**
   * Limit of concurrent handlers, and of the messages that wait behind them; for a batching queue up to 32 times as
   * many wait.
   */
  readonly prefetch?: number;
  /** Settles casts refused before decoding (`contracts/message-rules.ts`); default: dead-letter them. */
  readonly refused?: RefusalHandler;
}

/** A message in the form for handlers. */
export interface IncomingMessage {
  readonly type: string;
  readonly body: Uint8Array;
  /** The sender's id of the message, equal when it is resent. */
  readonly id: string;
  /** '' without one; unchecked, unlike `identity`. */
  readonly sender: string;
  /** The sender, as the broker verified it. */
  readonly identity: Identity;
  /** The client's queue for answers, if any. */
  readonly replyTo: string | undefined;
  readonly correlationId: string | undefined;
  /** True when it was delivered before: its effects may be stored already. */
  readonly redelivered: boolean;
  /** Time since it was first postponed; 0 if never. */
  readonly postponedForMs: number;
  /**
   * When the caller stops waiting, or a cast expires, by this process's clock; undefined for casts that do not expire.
   */
  readonly deadlineMs: number | undefined;
  /** Text headers, such as `berth-error-reason` on a dead letter. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Aborts at the deadline, and when the bus closes and stops waiting. */
  readonly signal: AbortSignal;
  /** True when `signal` has aborted or would have; checking it avoids creating the signal, which costs a timer. */
  readonly isAborted: boolean;
}

/** Settles a message that reaches no handler, for the given reason. It may answer the sender. */
export type RefusalHandler = (message: IncomingMessage, error: BerthError) => Promise<Settlement>;

/** Returns the answer, or throws a BerthError that travels to the caller. */
export type CallHandler = (message: IncomingMessage) => Promise<Uint8Array>;

/**
 * The settlement of a cast.
 *
 * - `ack`      its effects are stored
 * - `requeue`  not now: redeliver it (counts against the queue's delivery limit)
 * - `postpone` not now, through no fault of its own: to the end of the queue, not counted, but with `redelivered`.
 *   After `BERTH_BUS_MAX_POSTPONED_MS` of that it is refused, `postponed_too_long`
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

/** A handler that throws requeues once; the second throw, on a redelivered message, drops it. */
export type CastHandler = (message: IncomingMessage) => Promise<Settlement>;

export type EventHandler = (topic: string, message: IncomingMessage) => void;

export interface Subscription {
  /** Stops deliveries and waits for running handlers to settle. */
  cancel(): Promise<void>;
}

/**
 * The queue of dropped messages. Headers: `berth-error-code`, `berth-error-reason`, `berth-error-message`,
 * `berth-queue`.
 */
export const DEAD_LETTERS = 'dead-letters';

/** True for the dead letters of any cell. */
export function isDeadLetters(queue: string): boolean {
  return withoutCell(queue) === DEAD_LETTERS;
}
