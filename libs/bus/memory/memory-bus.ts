import { addressInCell, inCell, queueInCell } from '../../contracts/cells';
import { type Identity, isRestricted } from '../../contracts/identity';
import { EVENTS_EXCHANGE, type QueueAddress, type QueueSpec, queueName } from '../../contracts/queues';
import type { BerthError } from '../../domain/errors';
import { endsWithin } from '../../runtime/ends-within';
import { type SenderLog, senderLog } from '../../runtime/sender-log';
import type { Readiness, RuntimeDeps } from '../../runtime/service';
import {
  cancelled,
  checkSize,
  closing,
  nobodyServes,
  noSuchQueue,
  queueFull,
  queueInUse,
  topicProblem,
} from '../errors';
import { type BusMetrics, busMetrics, countNotSent } from '../handling/bus-metrics';
import { DEAD_LETTER_QUEUE } from '../handling/dead-letter';
import { type Handle, handleCalls, handleCasts } from '../handling/handle-message';
import { PendingCalls } from '../handling/pending-calls';
import { traceCall, traceCast, traceHeaders } from '../handling/trace-messages';
import type { BusConfig } from '../options';
import type {
  Bus,
  CallHandler,
  CallOptions,
  CastHandler,
  CastOptions,
  ConsumeOptions,
  EventHandler,
  OutgoingMessage,
  Subscription,
} from '../port';
import type { MemoryBroker } from './broker';
import type { Envelope, MemoryQueue } from './queue';
import { deliveryOf, MemorySubscription } from './subscription';

const NO_HEADERS = {};

/** A bus within one process. Buses on one broker exchange messages; each opens and closes on its own. */
export class MemoryBus implements Bus {
  readonly #broker: MemoryBroker;
  readonly #identity: Identity;
  readonly #config: BusConfig;
  readonly #around: RuntimeDeps;
  readonly #refusals: SenderLog;
  readonly #metrics: BusMetrics;
  readonly #pending: PendingCalls;
  readonly #answers: MemoryQueue;
  readonly #subscriptions = new Set<MemorySubscription>();
  readonly #unlisten = new Set<() => void>();
  readonly #taken = new Map<string, number>();
  #closed: Promise<void> | undefined;
  #isOpen = true;
  #callCount = 0;

  constructor(broker: MemoryBroker, identity: Identity, config: BusConfig, around: RuntimeDeps) {
    this.#broker = broker;
    this.#identity = identity;
    this.#config = config;
    this.#around = around;
    this.#refusals = senderLog(around.log, around.clock);
    this.#pending = new PendingCalls(around.clock);
    this.#metrics = busMetrics(around.metrics, this);
    broker.declare(queueInCell(config.cell, DEAD_LETTER_QUEUE));
    this.#answers = broker.declarePrivate('answers');
    this.#answers.add({
      prefetch: Infinity,
      unsettledCount: 0,
      receive: ({ correlationId, type, body, identity: sender }) => {
        if (sender.kind === 'service') this.#pending.answer(correlationId ?? '', type, body);
      },
    });
  }

  async call(address: QueueAddress, message: OutgoingMessage, options: CallOptions): Promise<Uint8Array> {
    this.#check(message);
    return traceCall(this.#nameOf(address), message, () => this.#call(address, message, options));
  }

  async #call(address: QueueAddress, message: OutgoingMessage, options: CallOptions): Promise<Uint8Array> {
    const queue = this.#nameOf(address);
    if (options.signal?.aborted) throw cancelled(queue);
    const target = this.#broker.find(queue);
    if (target === undefined) throw countNotSent(this.#metrics, nobodyServes(queue));
    const correlationId = String(++this.#callCount);
    const answer = this.#pending.wait(correlationId, queue, options);
    const expiresAtMs = this.#around.clock.elapsed() + options.timeoutMs;
    const envelope = this.#seal(message, { ...options, replyTo: this.#answers.spec.name, correlationId }, expiresAtMs);
    if (target.put(envelope) === 'full') {
      this.#pending.fail(correlationId, countNotSent(this.#metrics, queueFull(queue)));
    }
    return answer;
  }

  async cast(address: QueueAddress, message: OutgoingMessage, options: CastOptions = {}): Promise<void> {
    this.#check(message);
    return traceCast(this.#nameOf(address), message, () => this.#cast(address, message, options));
  }

  async #cast(address: QueueAddress, message: OutgoingMessage, options: CastOptions): Promise<void> {
    const queue = this.#nameOf(address);
    const target = this.#broker.find(queue);
    if (target === undefined) throw countNotSent(this.#metrics, noSuchQueue(queue));
    const { expiresInMs } = options;
    const expiresAtMs = expiresInMs === undefined ? undefined : this.#around.clock.elapsed() + expiresInMs;
    if (target.put(this.#seal(message, options, expiresAtMs)) === 'full')
      throw countNotSent(this.#metrics, queueFull(queue));
  }

  async serve(
    spec: QueueSpec,
    handlers: Readonly<Record<string, CallHandler>>,
    options?: ConsumeOptions,
  ): Promise<Subscription> {
    const queue = queueInCell(this.#config.cell, spec);
    return this.#subscribe(queue, options, handleCalls(handlers, this.#handling(queue)));
  }

  async consume(spec: QueueSpec, handler: CastHandler, options?: ConsumeOptions): Promise<Subscription> {
    const queue = queueInCell(this.#config.cell, spec);
    return this.#subscribe(
      queue,
      options,
      handleCasts(handler, { ...this.#handling(queue), refused: options?.refused }),
    );
  }

  async publish(topic: string, message: OutgoingMessage): Promise<void> {
    this.#check(message);
    const problem = topicProblem(topic);
    if (problem !== undefined) throw countNotSent(this.#metrics, problem);
    this.#broker.publish(this.#events, topic, { ...this.#seal(message, {}), deliveries: 1 });
  }

  async subscribe(pattern: string, handler: EventHandler): Promise<Subscription> {
    this.#refuseClosed();
    const hear = (topic: string, envelope: Envelope) => handler(topic, deliveryOf(envelope, this.#broker));
    const unlisten = this.#broker.listen({ exchange: this.#events, pattern, hear });
    this.#unlisten.add(unlisten);
    return {
      cancel: async () => {
        unlisten();
        this.#unlisten.delete(unlisten);
      },
    };
  }

  async declare(queue: QueueSpec): Promise<void> {
    this.#refuseClosed();
    if (!isRestricted(this.#identity)) this.#broker.declare(queueInCell(this.#config.cell, queue));
  }

  async depth(name: string): Promise<number> {
    this.#refuseClosed();
    const queue = inCell(this.#config.cell, name);
    const target = this.#broker.find(queue);
    if (target === undefined) throw noSuchQueue(queue);
    return target.depth;
  }

  taken(name: string): number {
    return this.#taken.get(inCell(this.#config.cell, name)) ?? 0;
  }

  async remove(name: string): Promise<void> {
    this.#refuseClosed();
    const queue = inCell(this.#config.cell, name);
    const target = this.#broker.find(queue);
    if (target?.hasConsumers) throw queueInUse(queue);
    if (target) this.#broker.delete(target);
  }

  isConnected(): boolean {
    return this.#isOpen;
  }

  readiness(): Readiness {
    return this.#isOpen ? { ready: true } : { ready: false, reason: 'the bus is closed' };
  }

  get callsWaiting(): number {
    return this.#pending.size;
  }

  /** The broker is local: sent messages have arrived. */
  get unconfirmed(): number {
    return 0;
  }

  get inHand(): number {
    return [...this.#subscriptions].reduce((sum, { inHandCount }) => sum + inHandCount, 0);
  }

  close(): Promise<void> {
    this.#closed ??= this.#drain();
    return this.#closed;
  }

  async #drain(): Promise<void> {
    for (const unlisten of this.#unlisten) unlisten();
    const drained = Promise.all([...this.#subscriptions].map((subscription) => subscription.cancel()));
    // Handlers may still call and cast until they end.
    const isDrained = await endsWithin(drained, this.#config.drainTimeoutMs, this.#around.clock);
    this.#isOpen = false;
    const reason: BerthError = closing();
    if (!isDrained) for (const subscription of this.#subscriptions) subscription.abandon(reason);
    this.#pending.failAll(reason);
    this.#broker.delete(this.#answers);
  }

  #subscribe(spec: QueueSpec, options: ConsumeOptions | undefined, handle: Handle): Subscription {
    this.#refuseClosed();
    const queue = this.#broker.declare(spec);
    const prefetch = options?.prefetch ?? this.#config.prefetch;
    const takeAndHandle: Handle = (delivery, actions) => {
      this.#taken.set(spec.name, (this.#taken.get(spec.name) ?? 0) + 1);
      return handle(delivery, actions);
    };
    const subscription = new MemorySubscription(this.#broker, queue, prefetch, takeAndHandle);
    this.#subscriptions.add(subscription);
    return {
      cancel: async () => {
        await subscription.cancel();
        this.#subscriptions.delete(subscription);
      },
    };
  }

  get #events(): string {
    return inCell(this.#config.cell, EVENTS_EXCHANGE);
  }

  #nameOf(address: QueueAddress): string {
    return queueName(addressInCell(this.#config.cell, address));
  }

  #handling(queue: QueueSpec) {
    const { maxMessageBytes, maxPostponedMs } = this.#config;
    return { queue, log: this.#refusals, metrics: this.#metrics, maxMessageBytes, maxPostponedMs };
  }

  #seal({ type, body, sender }: OutgoingMessage, options: CastOptions, expiresAtMs?: number): Envelope {
    const { id, replyTo, correlationId, onBehalfOf } = options;
    return {
      type,
      body,
      sender: sender ?? '',
      identity: isRestricted(this.#identity) ? this.#identity : (onBehalfOf ?? this.#identity),
      id: id ?? this.#around.random.uuid(),
      replyTo,
      correlationId,
      headers: traceHeaders() ?? NO_HEADERS,
      expiresAtMs,
      deliveries: 0,
    };
  }

  #check(message: OutgoingMessage): void {
    this.#refuseClosed();
    checkSize(message.body, this.#config.maxMessageBytes);
  }

  #refuseClosed(): void {
    if (!this.#isOpen) throw closing();
  }
}
