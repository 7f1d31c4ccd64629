import type { BerthError } from '../../domain/errors';
import type { Surroundings } from '../../runtime/service';
import { type BusMetrics, busMetrics } from '../bus-metrics';
import type { Delivery } from '../delivery';
import { bury, type Hand, type HandlingOptions, handleCall, handleCast } from '../handling';
import type { BusConfig } from '../options';
import {
  type Bus,
  type CallHandler,
  type CallOptions,
  type CastHandler,
  type CastOptions,
  type ConsumeOptions,
  DEAD_LETTERS,
  type EventHandler,
  type OutgoingMessage,
  type QueueSpec,
  type Subscription,
} from '../port';
import { cancelled, checkSize, closing, noSuchQueue } from '../refusals';
import { endsWithin } from '../workload';
import { Admin } from './admin';
import { Caller } from './caller';
import { Caster } from './caster';
import { Consumer, type ConsumerRole } from './consumer';
import { Lane } from './lane';
import type { Link } from './link';
import { brokerBlocked, declareEventQueue, declareQueue, refusalOf } from './topology';

/** Consumers share this many channels. */
const LANES = 16;
/** For a broker that no longer answers. */
const CLOSE_TIMEOUT_MS = 2_000;

/** The bus on RabbitMQ. Everything that it has on the broker comes back with the connection. */
export class AmqpBus implements Bus {
  readonly #link: Link;
  readonly #config: BusConfig;
  readonly #around: Surroundings;
  readonly #metrics: BusMetrics;
  readonly #admin: Admin;
  readonly #caster: Caster;
  readonly #caller: Caller;
  readonly #lanes: Lane[] = [];
  #closed: Promise<void> | undefined;
  #isOpen = true;

  constructor(link: Link, config: BusConfig, around: Surroundings) {
    this.#link = link;
    this.#config = config;
    this.#around = around;
    // In the order in which they come back: queues before those who write to them.
    this.#admin = new Admin(around);
    link.add(this.#admin);
    this.#metrics = busMetrics(around.metrics, this);
    link.onReconnect = () => this.#metrics.reconnects.inc();
    this.#caster = new Caster(link, config, this.#metrics, around);
    this.#caller = new Caller(link, config, this.#metrics, around);
  }

  async call(queue: string, message: OutgoingMessage, options: CallOptions): Promise<Uint8Array> {
    this.#checkOutgoing(message);
    if (options.signal?.aborted) throw cancelled(queue);
    return this.#caller.call(queue, message, options);
  }

  async cast(queue: string, message: OutgoingMessage, options: CastOptions = {}): Promise<void> {
    this.#checkOutgoing(message);
    return this.#caster.cast(queue, message, options);
  }

  async publish(topic: string, message: OutgoingMessage): Promise<void> {
    this.#checkOutgoing(message);
    return this.#caster.publish(topic, message);
  }

  async serve(
    queue: QueueSpec,
    handlers: Readonly<Record<string, CallHandler>>,
    options?: ConsumeOptions,
  ): Promise<Subscription> {
    const table = new Map(Object.entries(handlers));
    const handling = this.#handling(queue);
    return this.#consume(handling, options, true, (delivery, hand) => handleCall(delivery, hand, table, handling));
  }

  async consume(queue: QueueSpec, handler: CastHandler, options?: ConsumeOptions): Promise<Subscription> {
    const handling = this.#handling(queue);
    // Nobody packs for transient ones; whoever reads the dead letters reads a pack that is one as it is.
    const takesPacks = queue.kind !== 'transient' && queue.name !== DEAD_LETTERS;
    return this.#consume(handling, options, takesPacks, (delivery, hand) =>
      handleCast(delivery, hand, handler, handling),
    );
  }

  async subscribe(pattern: string, handler: EventHandler): Promise<Subscription> {
    return this.#start({
      queue: pattern,
      prefetch: 0,
      noAck: true,
      declare: () => this.#admin.run(pattern, (channel) => declareEventQueue(channel, pattern)),
      bury: async () => {},
      handle: async (delivery, _, topic) => {
        try {
          handler(topic, delivery);
        } catch (error) {
          this.#around.log.error({ topic, error }, 'a listener of events threw');
        }
      },
    });
  }

  async declare(queue: QueueSpec): Promise<void> {
    this.#refuseClosed();
    return this.#admin.declare(queue);
  }

  async depth(queue: string): Promise<number> {
    this.#refuseClosed();
    try {
      return await this.#admin.run(queue, async (channel) => (await channel.checkQueue(queue)).messageCount);
    } catch (error) {
      throw (error as { code?: unknown }).code === 404 ? noSuchQueue(queue) : refusalOf(error, queue);
    }
  }

  isConnected(): boolean {
    return this.#isOpen && this.#link.isUp && !this.#link.isBlocked && this.#caster.isReady && this.#caller.isReady;
  }

  get callsWaiting(): number {
    return this.#caller.waitingCount;
  }

  get unconfirmed(): number {
    return this.#caster.openCount;
  }

  get inHand(): number {
    const consumers = this.#lanes.flatMap((lane) => [...lane.consumers]);
    return consumers.reduce((sum, { inHandCount }) => sum + inHandCount, 0);
  }

  close(): Promise<void> {
    this.#closed ??= this.#drain();
    return this.#closed;
  }

  async #drain(): Promise<void> {
    const { clock } = this.#around;
    const reason: BerthError = closing();
    const consumers = this.#lanes.flatMap((lane) => [...lane.consumers].map((consumer) => ({ lane, consumer })));
    const drained = Promise.all(consumers.map(({ lane, consumer }) => lane.remove(consumer)));
    // Handlers may still call and cast until they end.
    const isDrained = await endsWithin(drained, this.#config.drainTimeoutMs, clock);
    if (!isDrained) for (const { consumer } of consumers) consumer.abort(reason);
    this.#isOpen = false;
    await endsWithin(this.#caster.idle(), this.#config.confirmTimeoutMs, clock);
    const channels = [...this.#lanes, this.#caster, this.#admin].map((part) => part.close());
    await endsWithin(Promise.all([...channels, this.#caller.close(reason)]), CLOSE_TIMEOUT_MS, clock);
    await this.#link.close();
  }

  #consume(
    handling: HandlingOptions,
    options: ConsumeOptions | undefined,
    takesPacks: boolean,
    handle: (delivery: Delivery, hand: Hand) => Promise<void>,
  ): Promise<Subscription> {
    const spec = handling.queue;
    return this.#start({
      queue: spec.name,
      prefetch: options?.prefetch ?? this.#config.prefetch,
      noAck: false,
      declare: () =>
        this.#admin.run(spec.name, async (channel) => {
          await declareQueue(channel, spec);
          return spec.name;
        }),
      bury: (delivery, error) => this.#caster.bury(delivery, error, spec.name),
      handle,
      ...(takesPacks ? { refusePack: (pack, hand, error) => bury(pack, hand, error, handling) } : {}),
    });
  }

  async #start(role: ConsumerRole): Promise<Subscription> {
    this.#refuseClosed();
    const consumer = new Consumer(role, this.#around);
    const lane = this.#emptiestLane();
    await lane.add(consumer);
    return { cancel: () => lane.remove(consumer) };
  }

  /** Each of the first consumers has a channel of its own; the others join the emptiest. */
  #emptiestLane(): Lane {
    const count = this.#lanes.length;
    const emptiest = this.#lanes.reduce<Lane | undefined>(
      (a, b) => (a !== undefined && a.size <= b.size ? a : b),
      undefined,
    );
    if (emptiest !== undefined && (emptiest.size === 0 || count >= LANES)) return emptiest;
    const lane = new Lane(this.#link, `consumers ${count + 1}`, this.#around);
    this.#lanes.push(lane);
    return lane;
  }

  #handling(queue: QueueSpec) {
    return { queue, log: this.#around.log, metrics: this.#metrics, maxMessageBytes: this.#config.maxMessageBytes };
  }

  #checkOutgoing(message: OutgoingMessage): void {
    this.#refuseClosed();
    if (this.#link.isBlocked) throw brokerBlocked();
    checkSize(message.body, this.#config.maxMessageBytes);
  }

  #refuseClosed(): void {
    if (!this.#isOpen) throw closing();
  }
}
