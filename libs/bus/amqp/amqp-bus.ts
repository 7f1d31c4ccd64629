import { notConnected } from '../../amqp/broker-errors';
import type { Connections } from '../../amqp/connection';
import { addressInCell, inCell, queueInCell } from '../../contracts/cells';
import { nameOf } from '../../contracts/identity';
import { type QueueAddress, type QueueSpec, queueName } from '../../contracts/queues';
import type { BerthError } from '../../domain/errors';
import { endsWithin } from '../../runtime/ends-within';
import { type SenderLog, senderLog } from '../../runtime/sender-log';
import type { Readiness, RuntimeDeps } from '../../runtime/service';
import { cancelled, checkSize, closing, noSuchQueue, queueInUse, topicProblem } from '../errors';
import { type BusMetrics, busMetrics, countNotSent } from '../handling/bus-metrics';
import { type Handle, handleCalls, handleCasts, isRefused } from '../handling/handle-message';
import { traceCall, traceCast } from '../handling/trace-messages';
import type { BusConfig } from '../options';
import {
  type Bus,
  type CallHandler,
  type CallOptions,
  type CastHandler,
  type CastOptions,
  type ConsumeOptions,
  type DeclareOptions,
  type EventHandler,
  type OutgoingMessage,
  type Subscription,
} from '../port';
import { Admin } from './admin';
import { Answers } from './batching/answers';
import { MAX_BYTES_IN_HAND } from './batching/concurrency-limit';
import { FrameReader } from './batching/frame-reader';
import { Caller } from './caller';
import { Caster } from './caster';
import { Consumer, type ConsumerRole } from './consumer';
import { ConsumerChannel } from './consumer-channel';
import { privateQueuePrefix } from './origin';
import { brokerBlocked, refusalOf } from './topology';

/** Limit of the channels that consumers share. */
const MAX_CONSUMER_CHANNELS = 16;
/** Time limit of the close, for a broker that no longer answers. */
const CLOSE_TIMEOUT_MS = 2_000;

/** The bus on RabbitMQ. Its queues, bindings and consumers come back with the connection. */
export class AmqpBus implements Bus {
  readonly #connections: Connections;
  readonly #config: BusConfig;
  readonly #around: RuntimeDeps;
  readonly #refusals: SenderLog;
  readonly #metrics: BusMetrics;
  readonly #admin: Admin;
  readonly #caster: Caster;
  readonly #caller: Caller;
  readonly #answers: Answers;
  readonly #channels: ConsumerChannel[] = [];
  /** AMQP messages that came, by queue. */
  readonly #taken = new Map<string, number>();
  #closed: Promise<void> | undefined;
  #isOpen = true;

  constructor(connections: Connections, config: BusConfig, around: RuntimeDeps) {
    const { publishing, consuming } = connections;
    this.#connections = connections;
    this.#config = config;
    this.#around = around;
    this.#refusals = senderLog(around.log, around.clock);
    // In the order of recovery: queues before their publishers.
    this.#admin = new Admin(consuming.user, config.cell, around);
    consuming.add(this.#admin);
    this.#metrics = busMetrics(around.metrics, this);
    consuming.onReconnect = () => this.#metrics.reconnects.inc();
    const sending = { metrics: this.#metrics, lost: () => void this.#admin.check() };
    this.#caster = new Caster(publishing, config, around, sending);
    this.#caller = new Caller(connections, config, around, sending);
    this.#answers = new Answers(publishing, around);
  }

  async call(address: QueueAddress, message: OutgoingMessage, options: CallOptions): Promise<Uint8Array> {
    this.#checkOutgoing(message);
    const queue = addressInCell(this.#config.cell, address);
    if (options.signal?.aborted) throw cancelled(queueName(queue));
    return traceCall(queueName(queue), message, () => this.#caller.call(queue, message, options));
  }

  async cast(queue: QueueAddress, message: OutgoingMessage, options: CastOptions = {}): Promise<void> {
    this.#checkOutgoing(message);
    const address = addressInCell(this.#config.cell, queue);
    return traceCast(queueName(address), message, () => this.#caster.cast(address, message, options));
  }

  async publish(topic: string, message: OutgoingMessage): Promise<void> {
    this.#checkOutgoing(message);
    const problem = topicProblem(topic);
    if (problem !== undefined) throw countNotSent(this.#metrics, problem);
    return this.#caster.publish(topic, message);
  }

  async serve(
    spec: QueueSpec,
    handlers: Readonly<Record<string, CallHandler>>,
    options?: ConsumeOptions,
  ): Promise<Subscription> {
    const queue = queueInCell(this.#config.cell, spec);
    return this.#consume(queue, options, handleCalls(handlers, this.#handling(queue)));
  }

  async consume(spec: QueueSpec, handler: CastHandler, options?: ConsumeOptions): Promise<Subscription> {
    const queue = queueInCell(this.#config.cell, spec);
    return this.#consume(queue, options, handleCasts(handler, { ...this.#handling(queue), refused: options?.refused }));
  }

  async subscribe(pattern: string, handler: EventHandler): Promise<Subscription> {
    return this.#start({
      queue: pattern,
      prefetch: 0,
      maxBytesInHand: Infinity,
      isRefused: () => false,
      took: () => {},
      noAck: true,
      declare: () => this.#admin.hear(this.#newPrivateName(), pattern),
      frames: undefined,
      bury: async () => {},
      postpone: async () => {},
      recount: async () => {},
      answers: this.#answers,
      log: this.#refusals,
      handle: async (delivery, _, topic) => {
        try {
          handler(topic, delivery);
        } catch (error) {
          const fields = { event: 'bus_event_listener_threw', topic, error };
          this.#refusals.error(nameOf(delivery.identity), fields, 'a listener of events threw');
        }
      },
    });
  }

  async declare(queue: QueueSpec, options?: DeclareOptions): Promise<void> {
    this.#refuseClosed();
    return this.#admin.declare(queueInCell(this.#config.cell, queue), options);
  }

  async depth(name: string): Promise<number> {
    this.#refuseClosed();
    const queue = inCell(this.#config.cell, name);
    try {
      return await this.#admin.run(queue, async (channel) => (await channel.checkQueue(queue)).messageCount);
    } catch (error) {
      throw (error as { code?: unknown }).code === 404 ? noSuchQueue(queue) : refusalOf(error, queue);
    }
  }

  taken(name: string): number {
    return this.#taken.get(inCell(this.#config.cell, name)) ?? 0;
  }

  async remove(name: string): Promise<void> {
    this.#refuseClosed();
    const queue = inCell(this.#config.cell, name);
    const isRemoved = await this.#admin.remove(queue).catch((error: unknown) => {
      if ((error as { code?: unknown }).code === 404) return true;
      throw refusalOf(error, queue);
    });
    if (!isRemoved) throw queueInUse(queue);
  }

  isConnected(): boolean {
    return (
      this.#isOpen &&
      this.#connections.consuming.isUp &&
      this.#channels.every(({ isConsuming }) => isConsuming) &&
      this.#admin.isWhole &&
      !this.#connections.publishing.isBlocked &&
      this.#caster.publisher.isReady &&
      this.#caller.isReady
    );
  }

  readiness(): Readiness {
    const { consuming, publishing } = this.#connections;
    return this.isConnected() ? { ready: true } : notConnected(consuming.lastError, publishing.lastError);
  }

  get callsWaiting(): number {
    return this.#caller.waitingCount;
  }

  get unconfirmed(): number {
    return this.#caster.publisher.openCount;
  }

  get inHand(): number {
    const consumers = this.#channels.flatMap((channel) => [...channel.consumers]);
    return consumers.reduce((sum, { inHandCount }) => sum + inHandCount, 0);
  }

  close(): Promise<void> {
    this.#closed ??= this.#drain();
    return this.#closed;
  }

  async #drain(): Promise<void> {
    const { clock } = this.#around;
    const reason: BerthError = closing();
    const consumers = this.#channels.flatMap((channel) =>
      [...channel.consumers].map((consumer) => ({ channel, consumer })),
    );
    const drained = Promise.all(consumers.map(({ channel, consumer }) => channel.remove(consumer)));
    // Handlers may still call and cast until they end.
    const isDrained = await endsWithin(drained, this.#config.drainTimeoutMs, clock);
    if (!isDrained) for (const { consumer } of consumers) consumer.abort(reason);
    this.#isOpen = false;
    await endsWithin(this.#caster.publisher.idle(), this.#config.confirmTimeoutMs, clock);
    const channels = [...this.#channels, this.#caster.publisher, this.#answers, this.#admin].map((part) =>
      part.close(),
    );
    await endsWithin(Promise.all([...channels, this.#caller.close(reason)]), CLOSE_TIMEOUT_MS, clock);
    const { publishing, consuming } = this.#connections;
    await Promise.all([publishing.close(), consuming.close()]);
  }

  #consume(spec: QueueSpec, options: ConsumeOptions | undefined, handle: Handle): Promise<Subscription> {
    return this.#start({
      queue: spec.name,
      prefetch: options?.prefetch ?? this.#config.prefetch,
      // Only services send orders, and a handler holds one as long as a build takes; a destroy must not wait behind
      // them.
      maxBytesInHand: spec.kind === 'host' ? Infinity : MAX_BYTES_IN_HAND,
      isRefused: (delivery) => isRefused(delivery, this.#handling(spec)),
      took: () => void this.#taken.set(spec.name, (this.#taken.get(spec.name) ?? 0) + 1),
      noAck: false,
      declare: async () => {
        await this.#admin.provide(spec);
        return spec.name;
      },
      answers: this.#answers,
      log: this.#refusals,
      handle,
      bury: (delivery, error) => this.#caster.bury(delivery, error, spec.name),
      postpone: (delivery) => this.#caster.postpone(delivery, spec),
      recount: (delivery) => this.#caster.recount(delivery, spec),
      frames: spec.batching
        ? new FrameReader((body, properties) => this.#caster.put(spec, body, properties), this.#around, this.#refusals)
        : undefined,
    });
  }

  async #start(role: ConsumerRole): Promise<Subscription> {
    this.#refuseClosed();
    const consumer = new Consumer(role, this.#around);
    const channel = this.#emptiestChannel();
    await channel.add(consumer);
    return { cancel: () => channel.remove(consumer) };
  }

  /** The first consumers have a channel each; later ones join the channel with the fewest. */
  #emptiestChannel(): ConsumerChannel {
    const count = this.#channels.length;
    const emptiest = this.#channels.reduce<ConsumerChannel | undefined>(
      (a, b) => (a !== undefined && a.size <= b.size ? a : b),
      undefined,
    );
    if (emptiest !== undefined && (emptiest.size === 0 || count >= MAX_CONSUMER_CHANNELS)) return emptiest;
    const channel = new ConsumerChannel(this.#connections.consuming, `consumers ${count + 1}`, this.#around);
    this.#channels.push(channel);
    return channel;
  }

  #newPrivateName(): string {
    return privateQueuePrefix(this.#connections.consuming.user) + this.#around.random.uuid();
  }

  #handling(queue: QueueSpec) {
    const { maxMessageBytes, maxPostponedMs } = this.#config;
    return { queue, log: this.#refusals, metrics: this.#metrics, maxMessageBytes, maxPostponedMs };
  }

  #checkOutgoing(message: OutgoingMessage): void {
    this.#refuseClosed();
    if (this.#connections.publishing.isBlocked) throw brokerBlocked();
    checkSize(message.body, this.#config.maxMessageBytes);
  }

  #refuseClosed(): void {
    if (!this.#isOpen) throw closing();
  }
}
