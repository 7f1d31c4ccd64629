import type { Channel, ConsumeMessage } from 'amqplib';
import { atEndOfCallback } from '../../../runtime/batch-per-tick';

/**
 * The acks of one channel, combined.
 *
 * The naive way acks each message by itself, which costs the broker as much as a message, and under load many handlers
 * end in one callback of the event loop. AMQP can ack all messages up to one at once, but only if all of these are
 * done: a premature ack would lose a message. So unsettled messages are kept in delivery order, and at the end of a
 * callback one ack covers everything older than the oldest of them; messages done ahead of it are acked by themselves.
 * The cost: an ack leaves a moment after its handler has ended, and closing the channel requires a `flush` first.
 */
export class Acks {
  readonly channel: Channel;
  readonly #unsettled = new Set<ConsumeMessage>();
  #done: ConsumeMessage[] = [];
  #isLost = false;

  constructor(channel: Channel) {
    this.channel = channel;
  }

  /** True when the channel is gone: the broker redelivers everything unacked. */
  get isLost(): boolean {
    return this.#isLost;
  }

  markLost(): void {
    this.#isLost = true;
  }

  /** Registers a message for its ack or requeue. */
  take(message: ConsumeMessage): void {
    this.#unsettled.add(message);
  }

  ack(message: ConsumeMessage): void {
    this.#unsettled.delete(message);
    if (this.#done.push(message) === 1) atEndOfCallback(() => this.flush());
  }

  requeue(message: ConsumeMessage): void {
    this.#unsettled.delete(message);
    onOpen(() => this.channel.nack(message, false, true));
  }

  /** Sends the due acks now. */
  flush(): void {
    const [oldest] = this.#unsettled;
    const oldestTag = oldest?.fields.deliveryTag ?? Number.POSITIVE_INFINITY;
    const done = this.#done;
    this.#done = [];
    let last: ConsumeMessage | undefined;
    for (const message of done) {
      const { deliveryTag } = message.fields;
      if (deliveryTag > oldestTag) onOpen(() => this.channel.ack(message));
      else if (last === undefined || deliveryTag > last.fields.deliveryTag) last = message;
    }
    if (last !== undefined) onOpen(() => this.channel.ack(last, true));
  }
}

/** Does nothing on a closed channel: the broker redelivers the message. */
export function onOpen(action: () => void): void {
  try {
    action();
  } catch {
    // amqplib throws IllegalOperationError on a closed channel.
  }
}
