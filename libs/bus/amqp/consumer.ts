import type { ConsumeMessage } from 'amqplib';
import { nameOf } from '../../contracts/identity';
import type { BerthError } from '../../domain/errors';
import type { SenderLog } from '../../runtime/sender-log';
import type { RuntimeDeps } from '../../runtime/service';
import type { Delivery } from '../handling/delivery';
import type { MessageActions } from '../handling/handle-message';
import { RunningHandlers } from '../handling/running-handlers';
import type { Acks } from './batching/acks';
import type { Answers } from './batching/answers';
import { ConcurrencyLimit } from './batching/concurrency-limit';
import { isFrame } from './batching/frame';
import type { FrameReader, Settling } from './batching/frame-reader';
import { deliveryOf } from './message';

/** A consumer's queue and its callbacks. */
export interface ConsumerRole {
  /** Name of the queue, or the topic pattern; for people. */
  readonly queue: string;
  /** Limit of concurrent handlers, and of unsettled AMQP messages from the broker. */
  readonly prefetch: number;
  /** Limit of the body bytes that handlers hold at once. */
  readonly maxBytesInHand: number;
  /** True when a message reaches no handler: it is settled at once instead of waiting with an unread body. */
  isRefused(delivery: Delivery): boolean;
  /** Events need no ack. */
  readonly noAck: boolean;
  /** Counts an AMQP message from the broker. */
  took(): void;
  /** Declares the queue on its own choice of channel; resolves to its name. */
  declare(): Promise<string>;
  /** Never rejects. */
  handle(delivery: Delivery, actions: MessageActions, topic: string): Promise<void>;
  /** Dead-letters a message. */
  bury(delivery: Delivery, error: BerthError): Promise<void>;
  /** Moves a message to the end of its queue. */
  postpone(delivery: Delivery): Promise<void>;
  /** Moves a message to the end of its queue, with its delivery count. */
  recount(delivery: Delivery): Promise<void>;
  readonly answers: Answers;
  /** Lines about messages, limited by their senders. */
  readonly log: SenderLog;
  /** Unpacks frames; undefined for a queue that is not batching. */
  readonly frames: FrameReader | undefined;
}

/** State of one channel; the next channel starts with a new limit. */
interface ChannelState {
  readonly acks: Acks;
  readonly limit: ConcurrencyLimit;
}

/** One consumer and its unsettled messages; it outlives its channels. */
export class Consumer {
  readonly #role: ConsumerRole;
  readonly #around: RuntimeDeps;
  readonly #running = new RunningHandlers();
  /** Its consumer tag on every channel. */
  readonly #tag: string;
  #state: ChannelState | undefined;
  #isCancelled = false;

  constructor(role: ConsumerRole, around: RuntimeDeps) {
    this.#role = role;
    this.#around = around;
    this.#tag = around.random.uuid();
  }

  get queue(): string {
    return this.#role.queue;
  }

  get inHandCount(): number {
    return this.#running.size;
  }

  /**
   * Consumes on a channel. `onCancel` is called when the broker cancels this consumer alone, as when the queue is
   * deleted.
   */
  async attach(acks: Acks, onCancel: () => void): Promise<void> {
    const queue = await this.#role.declare();
    const { prefetch, noAck, maxBytesInHand } = this.#role;
    const { channel } = acks;
    const limit = new ConcurrencyLimit(noAck ? Number.POSITIVE_INFINITY : prefetch, maxBytesInHand);
    const state = { acks, limit };
    this.#state = state;
    const take = (message: ConsumeMessage | null) => (message === null ? onCancel() : this.#take(state, message));
    // Sent back to back: a prefetch applies to later consumers of the channel.
    const prefetched = channel.prefetch(prefetch);
    const consumed = channel.consume(queue, take, { noAck, consumerTag: this.#tag });
    await Promise.all([prefetched, consumed]);
    if (this.#isCancelled) await this.#stop();
  }

  /** Takes no more messages; resolves when all are settled. */
  async cancel(): Promise<void> {
    this.#isCancelled = true;
    await this.#stop();
    await this.#running.idle();
  }

  /** Aborts the handlers: their results are no longer wanted. */
  abort(reason: BerthError): void {
    this.#running.abort(reason);
  }

  async #stop(): Promise<void> {
    // A closed channel has no consumers.
    await this.#state?.acks.channel.cancel(this.#tag).catch(() => {});
  }

  #take({ acks, limit }: ChannelState, message: ConsumeMessage): void {
    const { frames, noAck, answers } = this.#role;
    this.#role.took();
    if (!noAck) acks.take(message);
    const run = (delivery: Delivery, settling: Settling, reply: MessageActions['reply']) => {
      const actions = this.#actionsOf(delivery, settling, reply);
      const handle = () => this.#role.handle(delivery, actions, message.fields.routingKey);
      const isRefused = this.#role.isRefused(delivery);
      this.#running.run(delivery, isRefused ? handle() : limit.run(handle, delivery.body.length));
    };
    if (frames === undefined || !isFrame(message)) {
      const delivery = deliveryOf(message, this.#around);
      const whole = { ack: () => acks.ack(message), requeue: () => acks.requeue(message) };
      return run(delivery, whole, (type, body) => answers.send(delivery, type, body));
    }
    frames.read(message, acks, (delivery, settling) => {
      if (this.#isCancelled) return false;
      run(delivery, settling, (type, body) => answers.sendBatched(delivery, type, body));
      return true;
    });
  }

  #actionsOf(delivery: Delivery, { ack, requeue }: Settling, reply: MessageActions['reply']): MessageActions {
    const move = (moved: Promise<void>) =>
      moved.then(ack, (problem: unknown) => {
        const fields = { event: 'bus_message_not_moved', queue: this.queue, id: delivery.id, error: problem };
        this.#role.log.error(nameOf(delivery.identity), fields, 'message not moved to another queue, requeued');
        return requeue();
      });
    return {
      ack,
      requeue,
      postpone: () => move(this.#role.postpone(delivery)),
      recount: () => move(this.#role.recount(delivery)),
      drop: (error) => move(this.#role.bury(delivery, error)),
      reply,
    };
  }
}
