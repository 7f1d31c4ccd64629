import type { Channel, ConsumeMessage } from 'amqplib';

/**
 * The acks of one channel, in few frames.
 *
 * A frame for each ack costs the broker as much as a message, and under load many handlers end in one turn of the event
 * loop. AMQP can ack all messages up to one at once, but only if none of them is still in a handler's hand: an ack too
 * many would lose a message. So what is in hand is kept in the order of delivery, and at the end of a turn one frame
 * acks everything older than the oldest of it; what was done out of turn is acked by itself. The cost: an ack leaves some
 * microseconds after its handler has ended, and whoever closes the channel must `flush` before.
 */
export class Acks {
  readonly #channel: Channel;
  readonly #inHand = new Set<ConsumeMessage>();
  #done: ConsumeMessage[] = [];

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  /** The message waits for its ack or requeue from now on. */
  take(message: ConsumeMessage): void {
    this.#inHand.add(message);
  }

  ack(message: ConsumeMessage): void {
    this.#inHand.delete(message);
    if (this.#done.push(message) === 1) process.nextTick(() => this.flush());
  }

  requeue(message: ConsumeMessage): void {
    this.#inHand.delete(message);
    onOpen(() => this.#channel.nack(message, false, true));
  }

  /** Sends what is to be acked now. */
  flush(): void {
    const [oldest] = this.#inHand;
    const oldestTag = oldest?.fields.deliveryTag ?? Number.POSITIVE_INFINITY;
    const done = this.#done;
    this.#done = [];
    let last: ConsumeMessage | undefined;
    for (const message of done) {
      const { deliveryTag } = message.fields;
      if (deliveryTag > oldestTag) onOpen(() => this.#channel.ack(message));
      else if (last === undefined || deliveryTag > last.fields.deliveryTag) last = message;
    }
    if (last !== undefined) onOpen(() => this.#channel.ack(last, true));
  }
}

/** On a channel that is gone there is nothing to do: the broker gives the message to somebody again. */
export function onOpen(action: () => void): void {
  try {
    action();
  } catch {
    // amqplib throws IllegalOperationError on a closed channel.
  }
}
