import type { Channel, ChannelModel } from 'amqplib';
import { noAnswer } from '../../amqp/broker-errors';
import type { Connection } from '../../amqp/connection';
import { ReopeningChannel } from '../../amqp/reopening-channel';
import type { BerthError } from '../../domain/errors';
import { endsWithin } from '../../runtime/ends-within';
import type { RuntimeDeps } from '../../runtime/service';
import { closing } from '../errors';
import { Acks } from './batching/acks';
import type { Consumer } from './consumer';
import { refusalOf } from './topology';

const RETRY_DELAY_MS = 500;
/** A queue that is gone, or a right, may stay away for days: a line for half a minute of attempts. */
const FAILURES_PER_LINE = 60;
/** Time limit of a consumer's confirmation; the broker may have a thousand others to confirm first. */
const CONFIRM_TIMEOUT_MS = 30_000;

interface Member {
  readonly consumer: Consumer;
  hasStarted: boolean;
  isConsuming: boolean;
  /** Attempts to start again that failed since it last consumed. */
  failureCount: number;
  resolve(): void;
  reject(error: BerthError): void;
}

/**
 * A channel with its consumers, all of which restart whenever the channel comes back. They share it because a broker
 * allows a connection some 2,000 channels, and one process may carry more agents than that.
 */
export class ConsumerChannel {
  readonly #around: RuntimeDeps;
  readonly #reopening: ReopeningChannel<Channel>;
  readonly #members = new Map<Consumer, Member>();
  /** Acks of the present channel. */
  #acks: Acks | undefined;

  constructor(connection: Connection, name: string, around: RuntimeDeps) {
    this.#around = around;
    const role = {
      name,
      create: (model: ChannelModel) => model.createChannel(),
      prepare: async (channel: Channel) => this.#startAll(channel),
      lost: () => {
        this.#acks?.markLost();
        this.#acks = undefined;
        for (const member of this.#members.values()) member.isConsuming = false;
      },
    };
    this.#reopening = new ReopeningChannel<Channel>(connection, role, around);
    connection.add(this.#reopening);
  }

  get consumers(): Iterable<Consumer> {
    return this.#members.keys();
  }

  /** True when every consumer that once started consumes. */
  get isConsuming(): boolean {
    return [...this.#members.values()].every(({ hasStarted, isConsuming }) => isConsuming || !hasStarted);
  }

  get size(): number {
    return this.#members.size;
  }

  /** Resolves when the consumer consumes, however long the broker is away; rejects when the broker refuses it. */
  add(consumer: Consumer): Promise<void> {
    return new Promise((resolve, reject) => {
      const member = { consumer, hasStarted: false, isConsuming: false, failureCount: 0, resolve, reject };
      this.#members.set(consumer, member);
      if (this.#acks !== undefined) void this.#start(member, this.#acks);
    });
  }

  /** Cancels a consumer; resolves when its messages are settled. */
  async remove(consumer: Consumer): Promise<void> {
    this.#members.get(consumer)?.reject(closing());
    this.#members.delete(consumer);
    await consumer.cancel();
  }

  /** Resolves when the broker has received all acks. */
  close(): Promise<void> {
    this.#acks?.flush();
    return this.#reopening.close();
  }

  /** Not awaited: a queue whose broker does not answer must not delay the other consumers. */
  #startAll(channel: Channel): void {
    const acks = new Acks(channel);
    this.#acks = acks;
    for (const member of this.#members.values()) void this.#start(member, acks);
  }

  /** Never rejects. */
  async #start(member: Member, acks: Acks): Promise<void> {
    const { consumer } = member;
    try {
      await this.#attach(consumer, acks, () => {
        member.isConsuming = false;
        this.#startLater(member, acks);
      });
      member.hasStarted = true;
      member.isConsuming = this.#acks === acks;
      member.failureCount = 0;
      member.resolve();
    } catch (thrown) {
      const error = refusalOf(thrown, consumer.queue);
      if (!member.hasStarted && error.code !== 'unavailable') {
        this.#members.delete(consumer);
        return member.reject(error);
      }
      if (member.failureCount++ % FAILURES_PER_LINE === 0) {
        const fields = { event: 'bus_consumer_failed', queue: consumer.queue, error };
        this.#around.log.warn(fields, 'consumer not started, retrying');
      }
      this.#startLater(member, acks);
    }
  }

  async #attach(consumer: Consumer, acks: Acks, onCancel: () => void): Promise<void> {
    const attached = consumer.attach(acks, onCancel);
    if (await endsWithin(attached, CONFIRM_TIMEOUT_MS, this.#around.clock)) return attached;
    this.#reopening.abandon(acks.channel);
    throw noAnswer(consumer.queue);
  }

  #startLater(member: Member, acks: Acks): void {
    this.#around.clock.after(RETRY_DELAY_MS, () => {
      // A new channel has started it already.
      if (this.#acks === acks && this.#members.has(member.consumer)) void this.#start(member, acks);
    });
  }
}
