import { closing } from '../bus/errors';
import type {
  Bus,
  CallHandler,
  CallOptions,
  CastHandler,
  CastOptions,
  ConsumeOptions,
  DeclareOptions,
  EventHandler,
  IncomingMessage,
  OutgoingMessage,
  Subscription,
} from '../bus/port';
import { type QueueAddress, type QueueSpec, queueName } from '../contracts/queues';
import { BerthError } from '../domain/errors';
import type { Readiness } from '../runtime/service';
import type { Link } from './link';

/** The broker, as the buses of simulated processes see it. */
export interface SimulatedBroker {
  /** Thrown at whoever publishes; undefined when all is well. */
  refusal: BerthError | undefined;
  /** Opens a session on the broker for one connection of a process. Closing it gives back what it had in hand. */
  openSession(process: string): Bus;
  /** A message in words, for the history. */
  describe(message: Message): string;
}

/** The part of a message that traps see. */
export type Message = Pick<OutgoingMessage, 'type' | 'body'>;

/** Longest wait of a cast for its confirm. */
const CONFIRM_TIMEOUT_MS = 2_000;
/** A broken connection is opened again after this at most. */
const RECONNECT_MS = 400;

/** A consumer of this process, kept over connections. */
interface Consumer {
  begin(session: Bus): Promise<Subscription>;
  /** Subscription of the present connection. */
  current: Promise<Subscription> | undefined;
}

/**
 * A process's bus across a link that delays, breaks and loses: a client of the broker as `amqp` is one. The session at the
 * other end, with its queues, limits and redelivery, is a real bus in memory.
 */
export class SimulatedBus implements Bus {
  readonly #link: Link;
  readonly #broker: SimulatedBroker;
  #session: Bus | undefined;
  readonly #consumers = new Set<Consumer>();
  /** Calls that wait for the broker, and fail when the connection breaks. */
  readonly #waiting = new Set<(error?: BerthError) => void>();
  readonly #taken = new Map<string, number>();
  #isClosed = false;
  /** Delay after which the broker gets a copy of the next cast; undefined for none. */
  #copyAfterMs: number | undefined;

  constructor(link: Link, broker: SimulatedBroker) {
    this.#link = link;
    this.#broker = broker;
    this.#session = broker.openSession(link.process.name);
    link.onBreak(() => this.#connectionBroke());
  }

  /** The broker gets the next cast twice, as when somebody sends again what was confirmed, perhaps much later. */
  duplicateNext(afterMs: number): void {
    this.#copyAfterMs = afterMs;
  }

  async call(queue: QueueAddress, message: OutgoingMessage, options: CallOptions): Promise<Uint8Array> {
    const { signal, ...rest } = options;
    const { clock } = this.#link.process;
    const what = `call ${this.#broker.describe(message)}`;
    const asked = this.#ask(what, { timeoutMs: options.timeoutMs, timedOut: noAnswer, lost: lostCall }, (session) => {
      return session.call(queue, message, rest);
    });
    if (signal === undefined) return asked;
    return new Promise((resolve, reject) => {
      const cancel = () => clock.after(0, () => reject(new BerthError('aborted', 'cancelled', 'the caller left')));
      if (signal.aborted) cancel();
      signal.addEventListener('abort', cancel, { once: true });
      const release = () => signal.removeEventListener('abort', cancel);
      asked.then(resolve, reject).finally(release);
    });
  }

  cast(address: QueueAddress, message: OutgoingMessage, options: CastOptions = {}): Promise<void> {
    const copyAfterMs = this.#copyAfterMs;
    this.#copyAfterMs = undefined;
    const what = `${this.#broker.describe(message)} to ${queueName(address)}`;
    return this.#ask(what, CONFIRMED, async (session) => {
      if (this.#broker.refusal) throw this.#broker.refusal;
      await session.cast(address, message, options);
      if (copyAfterMs === undefined) return;
      const { expiresInMs } = options;
      // It expires when the first does.
      const left = { ...options, expiresInMs: expiresInMs && expiresInMs - copyAfterMs };
      this.#sendCopy(what, copyAfterMs, () => session.cast(address, message, left));
    });
  }

  publish(topic: string, message: OutgoingMessage): Promise<void> {
    return this.#ask(`event ${topic}`, CONFIRMED, async (session) => {
      if (this.#broker.refusal) throw this.#broker.refusal;
      await session.publish(topic, message);
    });
  }

  serve(
    queue: QueueSpec,
    handlers: Readonly<Record<string, CallHandler>>,
    options?: ConsumeOptions,
  ): Promise<Subscription> {
    return this.#consume((session) => {
      const remote = Object.entries(handlers).map(([type, handler]) => [type, this.#across(queue, handler)] as const);
      return session.serve(queue, Object.fromEntries(remote), options);
    });
  }

  consume(queue: QueueSpec, handler: CastHandler, options?: ConsumeOptions): Promise<Subscription> {
    return this.#consume((session) => session.consume(queue, this.#across(queue, handler), options));
  }

  subscribe(pattern: string, handler: EventHandler): Promise<Subscription> {
    return this.#consume((session) => {
      return session.subscribe(pattern, (topic, message) => {
        this.#link.carry('back', `event ${topic}`, () => handler(topic, message));
      });
    });
  }

  declare(queue: QueueSpec, options?: DeclareOptions): Promise<void> {
    return this.#ask(`declare ${queue.name}`, CONFIRMED, (session) => {
      return session.declare(queue, options);
    });
  }

  depth(queue: string): Promise<number> {
    return this.#ask(`depth of ${queue}`, CONFIRMED, async (session) => {
      return session.depth(queue);
    });
  }

  taken(queue: string): number {
    return this.#taken.get(queue) ?? 0;
  }

  remove(queue: string): Promise<void> {
    return this.#ask(`remove ${queue}`, CONFIRMED, async (session) => {
      await session.remove(queue);
    });
  }

  isConnected(): boolean {
    return this.#session !== undefined;
  }

  readiness(): Readiness {
    return this.isConnected() ? { ready: true } : { ready: false, reason: 'not connected' };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#consumers].map(async ({ current }) => (await current)?.cancel()));
    this.endSession();
    this.#failAll(closing());
  }

  /** The process is gone: the broker learns it after all that the process has sent. */
  endSession(): void {
    this.#isClosed = true;
    const session = this.#session;
    this.#session = undefined;
    if (session === undefined) return;
    // Messages cut off now break later.
    this.#link.onBreak(() => void session.close());
    this.#link.carry('out', 'closes its connection', () => void session.close());
  }

  /** Does something at the broker and comes back with its result. */
  #ask<T>(what: string, { timeoutMs, timedOut, lost }: Unanswered, effect: (session: Bus) => Promise<T>): Promise<T> {
    const session = this.#session;
    if (session === undefined) {
      return Promise.reject(this.#isClosed ? closing() : notConnected());
    }
    const { clock } = this.#link.process;
    return new Promise<T>((resolve, reject) => {
      const settle = (action: () => void) => {
        cancel();
        if (this.#waiting.delete(fail)) action();
      };
      const fail = (error = lost()) => settle(() => reject(error));
      const cancel = clock.after(timeoutMs, () => fail(timedOut(what)));
      this.#waiting.add(fail);
      this.#link.carry('out', what, () => {
        effect(session).then(
          (result) => this.#link.carry('back', `${what}: done`, () => settle(() => resolve(result))),
          (thrown: unknown) => {
            const error = BerthError.from(thrown);
            this.#link.carry('back', `${what}: ${error.reason}`, () => fail(error));
          },
        );
      });
    });
  }

  #sendCopy(what: string, afterMs: number, send: () => Promise<void>): void {
    const { time } = this.#link.process;
    time.at(time.nowMs + afterMs, () => {
      this.#link.note(`a copy of ${what} arrives`);
      send().catch(() => {});
    });
  }

  /** A handler of this process, for messages that come over the link and are settled over it. */
  #across<R>(
    { name }: QueueSpec,
    handler: (message: IncomingMessage) => Promise<R>,
  ): (message: IncomingMessage) => Promise<R> {
    return (message) => {
      const what = this.#broker.describe(message);
      return new Promise((resolve, reject) => {
        this.#link.carry('back', `${what}${message.redelivered ? ', again' : ''}`, () => {
          this.#taken.set(name, this.taken(name) + 1);
          handler(message).then(
            (result) => this.#link.carry('out', `${settlementOf(result)} ${what}`, () => resolve(result)),
            (thrown: unknown) => {
              this.#link.carry('out', `${BerthError.from(thrown).reason} ${what}`, () => reject(thrown));
            },
          );
        });
      });
    };
  }

  async #consume(begin: (session: Bus) => Promise<Subscription>): Promise<Subscription> {
    const consumer: Consumer = { begin, current: undefined };
    const beginOnce = () => {
      return this.#ask('consumes', CONFIRMED, (session) => {
        consumer.current = begin(session);
        return consumer.current;
      });
    };
    await beginOnce();
    this.#consumers.add(consumer);
    return {
      cancel: async () => {
        this.#consumers.delete(consumer);
        // A broken connection consumes nothing.
        if (this.#session === undefined) return;
        await new Promise<void>((resolve) => {
          const stopListening = this.#link.onBreak(resolve);
          this.#link.carry('out', 'stops consuming', () => {
            void consumer.current?.then(async (subscription) => {
              await subscription.cancel();
              stopListening();
              this.#link.carry('back', 'consumes no more', resolve);
            });
          });
        });
      },
    };
  }

  #connectionBroke(): void {
    const session = this.#session;
    this.#session = undefined;
    void session?.close();
    const { process } = this.#link;
    process.run(() => this.#failAll());
    process.clock.after(process.random.next() * RECONNECT_MS, () => this.#reconnect());
  }

  #reconnect(): void {
    if (this.#isClosed || this.#session !== undefined) return;
    if (this.#link.isCut) {
      this.#link.process.clock.after(RECONNECT_MS, () => this.#reconnect());
      return;
    }
    const session = this.#broker.openSession(this.#link.process.name);
    this.#session = session;
    for (const consumer of this.#consumers) {
      this.#link.carry('out', 'consumes', () => {
        consumer.current = consumer.begin(session);
      });
    }
  }

  /** @param error  when it is not a broken connection */
  #failAll(error?: BerthError): void {
    for (const fail of this.#waiting) fail(error);
  }
}

function settlementOf(result: unknown): string {
  return typeof result === 'object' && result !== null && 'kind' in result ? String(result.kind) : 'answer';
}

/** A question without an answer: its limit, and the errors once that has passed, and when the connection is lost. */
interface Unanswered {
  readonly timeoutMs: number;
  readonly timedOut: (what: string) => BerthError;
  readonly lost: () => BerthError;
}

const noAnswer = (what: string) => new BerthError('deadline_exceeded', 'no_answer', `no answer to ${what}`);
const notConfirmed = (what: string) => new BerthError('unavailable', 'not_confirmed', `not confirmed: ${what}`);
const lostCall = () => new BerthError('deadline_exceeded', 'connection_lost', 'the connection broke');
const lostCast = () => new BerthError('unavailable', 'connection_lost', 'the connection broke');
const CONFIRMED: Unanswered = { timeoutMs: CONFIRM_TIMEOUT_MS, timedOut: notConfirmed, lost: lostCast };
const notConnected = () => new BerthError('unavailable', 'not_connected', 'the broker is away');
