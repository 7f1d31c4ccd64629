import type { Channel, ConsumeMessage } from 'amqplib';
import type { BerthError } from '../../domain/errors';
import type { Surroundings } from '../../runtime/service';
import type { Delivery } from '../delivery';
import type { Hand } from '../handling';
import { Workload } from '../workload';
import { type Acks, onOpen } from './acks';
import { answerProperties, bufferOf, deliveryOf } from './message';

/** What a consumer consumes, and what it does with it. */
export interface ConsumerRole {
  /** Its name, or the pattern of its topics; for people. */
  readonly queue: string;
  readonly prefetch: number;
  /** Events need no ack. */
  readonly noAck: boolean;
  /** Declares the queue on whatever channel it takes; resolves to its name. */
  declare(): Promise<string>;
  /** Never rejects. */
  handle(delivery: Delivery, hand: Hand, topic: string): Promise<void>;
  /** Puts a message into the dead letters. */
  bury(delivery: Delivery, error: BerthError): Promise<void>;
}

/** One consumer and the messages it has in hand; it outlives the channels that it consumes on. */
export class Consumer {
  readonly #role: ConsumerRole;
  readonly #around: Surroundings;
  readonly #workload = new Workload();
  #live: { readonly channel: Channel; readonly tag: string } | undefined;
  #isCancelled = false;

  constructor(role: ConsumerRole, around: Surroundings) {
    this.#role = role;
    this.#around = around;
  }

  get queue(): string {
    return this.#role.queue;
  }

  get inHandCount(): number {
    return this.#workload.size;
  }

  /** Consumes on a channel. `onCancel` is called when the broker ends it alone, as when the queue is deleted. */
  async attach(channel: Channel, acks: Acks, onCancel: () => void): Promise<void> {
    const queue = await this.#role.declare();
    const take = (message: ConsumeMessage | null) =>
      message === null ? onCancel() : this.#take(channel, acks, message);
    // Sent back to back: a prefetch holds for the consumers that come after it on the channel.
    const prefetched = channel.prefetch(this.#role.prefetch);
    const consumed = channel.consume(queue, take, { noAck: this.#role.noAck });
    const [, { consumerTag }] = await Promise.all([prefetched, consumed]);
    this.#live = { channel, tag: consumerTag };
    if (this.#isCancelled) await this.#stop();
  }

  /** Takes nothing more; resolves when all that is in hand is settled. */
  async cancel(): Promise<void> {
    this.#isCancelled = true;
    await this.#stop();
    await this.#workload.idle();
  }

  /** Tells the handlers that their work is no longer wanted. */
  abort(reason: BerthError): void {
    this.#workload.abort(reason);
  }

  async #stop(): Promise<void> {
    const live = this.#live;
    this.#live = undefined;
    // A channel that is gone has no consumers.
    await live?.channel.cancel(live.tag).catch(() => {});
  }

  #take(channel: Channel, acks: Acks, message: ConsumeMessage): void {
    const delivery = deliveryOf(message, this.#around);
    const hand = this.#handOf(channel, acks, message, delivery);
    if (!this.#role.noAck) acks.take(message);
    this.#workload.run(delivery, this.#role.handle(delivery, hand, message.fields.routingKey));
  }

  #handOf(channel: Channel, acks: Acks, message: ConsumeMessage, delivery: Delivery): Hand {
    const { log } = this.#around;
    const ack = () => acks.ack(message);
    const requeue = () => acks.requeue(message);
    return {
      ack,
      requeue,
      drop: (error) =>
        this.#role.bury(delivery, error).then(ack, (problem: unknown) => {
          log.error({ id: delivery.id, error: problem }, 'could not move a message to dead-letters; requeues it');
          requeue();
        }),
      reply: (type, body) => {
        const { replyTo } = delivery;
        if (replyTo === undefined) return;
        onOpen(() => channel.publish('', replyTo, bufferOf(body), answerProperties(delivery, type)));
      },
    };
  }
}
