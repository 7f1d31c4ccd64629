import type { Channel, ConsumeMessage } from 'amqplib';
import { atEndOfCallback } from '../../../runtime/batch-per-tick';

/**
 * The acks of one channel, few of them on the wire.
 *
 * The naive way acks each message by itself, which costs the broker as much as a message, and under load many handlers end
 * in one callback of the event loop. AMQP can ack all messages up to one at once, but only if all of these are done: an ack too many would lose a
 * message. So unsettled messages are kept in the order of delivery, and at the end of a callback one ack covers everything
 * older than the oldest of them; what was done ahead of it is acked by itself. The cost: an ack leaves a moment after its
 * handler has ended, and whoever closes the channel must `flush` before.
 */
export class Acks {
  readonly channel: Channel;
  readonly #unsettled = new Set<ConsumeMessage>();
  #done: ConsumeMessage[] = [];
  #isLost = false;

  constructor(channel: Channel) {
    this.channel = channel;
  }

  /** Whether the channel is gone: the broker gives all that is not acked to somebody again. */
  get isLost(): boolean {
    return this.#isLost;
  }

  markLost(): void {
    this.#isLost = true;
  }

  /** The message waits for its ack or requeue from now on. */
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

  /** Sends what is to be acked now. */
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

/** On a channel that is gone there is nothing to do: the broker gives the message to somebody again. */
export function onOpen(action: () => void): void {
  try {
    action();
  } catch {
    // amqplib throws IllegalOperationError on a closed channel.
  }
}
