import type { Channel, ConsumeMessage } from 'amqplib';
import { packCodec } from '../../contracts/pack';
import { BerthError } from '../../domain/errors';
import type { Surroundings } from '../../runtime/service';
import type { Delivery } from '../delivery';
import type { Hand } from '../handling';
import { Workload } from '../workload';
import type { Acks } from './acks';
import { Answers } from './answers';
import { deliveriesOf, deliveryOf } from './message';
import { Room } from './room';

/** What a consumer consumes, and what it does with it. */
export interface ConsumerRole {
  /** Its name, or the pattern of its topics; for people. */
  readonly queue: string;
  /** Messages in hand at once, and messages of packs handled at once. */
  readonly prefetch: number;
  /** Events need no ack. */
  readonly noAck: boolean;
  /** Declares the queue on whatever channel it takes; resolves to its name. */
  declare(): Promise<string>;
  /** Never rejects. */
  handle(delivery: Delivery, hand: Hand, topic: string): Promise<void>;
  /** Takes packs apart, and refuses those that are malformed. Without it a pack is one message like others. */
  refusePack?(pack: Delivery, hand: Hand, error: BerthError): Promise<void>;
  /** Puts a message into the dead letters. */
  bury(delivery: Delivery, error: BerthError): Promise<void>;
}

/** What a channel has for the messages that come on it. A channel that is lost takes no room from the next. */
interface Way {
  readonly acks: Acks;
  readonly answers: Answers;
  readonly room: Room;
}

type Settling = Pick<Hand, 'ack' | 'requeue'>;

/** One consumer and the messages it has in hand; it outlives the channels that it consumes on. */
export class Consumer {
  readonly #role: ConsumerRole;
  readonly #around: Surroundings;
  readonly #workload = new Workload();
  #live: { readonly channel: Channel; readonly tag: string } | undefined;
  #answers: Answers | undefined;
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
    const { prefetch, noAck } = this.#role;
    const way = { acks, answers: new Answers(channel), room: new Room(noAck ? Number.POSITIVE_INFINITY : prefetch) };
    this.#answers = way.answers;
    const take = (message: ConsumeMessage | null) => (message === null ? onCancel() : this.#take(way, message));
    // Sent back to back: a prefetch holds for the consumers that come after it on the channel.
    const prefetched = channel.prefetch(prefetch);
    const consumed = channel.consume(queue, take, { noAck });
    const [, { consumerTag }] = await Promise.all([prefetched, consumed]);
    this.#live = { channel, tag: consumerTag };
    if (this.#isCancelled) await this.#stop();
  }

  /** Takes nothing more; resolves when all that is in hand is settled. */
  async cancel(): Promise<void> {
    this.#isCancelled = true;
    await this.#stop();
    await this.#workload.idle();
    this.#answers?.flush();
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

  #take(way: Way, message: ConsumeMessage): void {
    const { acks, answers } = way;
    const whole = { ack: () => acks.ack(message), requeue: () => acks.requeue(message) };
    if (!this.#role.noAck) acks.take(message);
    const isPack = this.#role.refusePack !== undefined && message.properties.type === packCodec.type;
    if (isPack) return this.#takePack(way, message, whole);
    const delivery = deliveryOf(message, this.#around);
    const reply = (type: string, body: Uint8Array) => answers.send(answerTo(delivery, type, body));
    this.#run(way, delivery, this.#handOf(delivery, whole, reply), message);
  }

  /** Each of its messages is handled as if it had come alone. */
  #takePack(way: Way, message: ConsumeMessage, whole: Settling): void {
    let deliveries: readonly Delivery[];
    try {
      deliveries = deliveriesOf(message, this.#around);
    } catch (error) {
      return this.#refusePack(deliveryOf(message, this.#around), whole, BerthError.from(error));
    }
    const part = partOf(whole, deliveries.length);
    for (const delivery of deliveries) {
      const reply = (type: string, body: Uint8Array) => way.answers.sendPacked(answerTo(delivery, type, body));
      this.#run(way, delivery, this.#handOf(delivery, part, reply), message);
    }
  }

  #run({ room }: Way, delivery: Delivery, hand: Hand, { fields }: ConsumeMessage): void {
    const handle = () => this.#role.handle(delivery, hand, fields.routingKey);
    this.#workload.run(delivery, room.run(handle));
  }

  #refusePack(pack: Delivery, whole: Settling, error: BerthError): void {
    const hand = this.#handOf(pack, whole, () => {});
    this.#workload.run(pack, this.#role.refusePack?.(pack, hand, error) ?? Promise.resolve());
  }

  #handOf(delivery: Delivery, { ack, requeue }: Settling, reply: Hand['reply']): Hand {
    const { log } = this.#around;
    return {
      ack,
      requeue,
      drop: (error) =>
        this.#role.bury(delivery, error).then(ack, (problem: unknown) => {
          log.error({ id: delivery.id, error: problem }, 'could not move a message to dead-letters; requeues it');
          requeue();
        }),
      reply,
    };
  }
}

function answerTo({ replyTo, id, correlationId }: Delivery, type: string, body: Uint8Array) {
  return { replyTo, id, correlationId, type, body };
}

/** Settles one of the `count` messages of a pack: the last settles it for all. If one is to come again, all come again. */
function partOf(whole: Settling, count: number): Settling {
  let openCount = count;
  let isWantedAgain = false;
  const end = () => {
    openCount--;
    if (openCount > 0) return;
    if (isWantedAgain) whole.requeue();
    else whole.ack();
  };
  const requeue = () => {
    isWantedAgain = true;
    end();
  };
  return { ack: end, requeue };
}
