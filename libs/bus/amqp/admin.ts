import type { Channel, ChannelModel } from 'amqplib';
import { sendsByEntrances } from '../../contracts/identity';
import type { QueueSpec } from '../../contracts/queues';
import type { Clock } from '../../domain/clock';
import { BerthError } from '../../domain/errors';
import { endsWithin } from '../../runtime/ends-within';
import type { Log } from '../../runtime/log';
import type { Surroundings } from '../../runtime/service';
import type { Attachment } from './connection';
import { closeQuietly } from './reopening-channel';
import {
  ANSWER_TIMEOUT_MS,
  bindEntrance,
  declareBase,
  declareQueue,
  findQueue,
  noAnswer,
  notConnected,
} from './topology';

/**
 * Declares and asks, one thing after the other on a channel of its own, because the broker answers a wrong question by
 * closing the channel. Remembers what was declared, and declares it again on each new connection. For a user who
 * sends by entrances services declare: queues are only looked for.
 */
export class Admin implements Attachment {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #cell: string;
  readonly #declares: boolean;
  readonly #declared = new Map<string, QueueSpec>();
  #model: ChannelModel | undefined;
  #channel: Channel | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(user: string, cell: string, { log, clock }: Surroundings) {
    this.#cell = cell;
    this.#log = log;
    this.#clock = clock;
    this.#declares = !sendsByEntrances(user);
  }

  async attach(model: ChannelModel): Promise<void> {
    this.#model = model;
    this.#channel = undefined;
    if (!this.#declares) return;
    const declareAgain = (queue: string, work: () => Promise<void>) =>
      work().catch((error: unknown) =>
        this.#log.error({ event: 'bus_declare_failed', queue, error }, 'could not declare a queue'),
      );
    await declareAgain('dead-letters', () => this.run('dead-letters', (channel) => declareBase(channel, this.#cell)));
    for (const spec of this.#declared.values()) await declareAgain(spec.name, () => this.#ensure(spec));
  }

  /** @throws BerthError `failed_precondition / queue_mismatch`, `unavailable`. */
  async declare(spec: QueueSpec): Promise<void> {
    if (!this.#declares) return;
    await this.#ensure(spec);
    this.#declared.set(spec.name, spec);
  }

  /**
   * Deletes a queue without consumers, and declares it no more; false when it has some. They are counted before: quorum queues
   * know no `if-unused`.
   */
  async remove(queue: string): Promise<boolean> {
    const isRemoved = await this.run(queue, async (channel) => {
      const { consumerCount } = await channel.checkQueue(queue);
      if (consumerCount > 0) return false;
      await channel.deleteQueue(queue);
      return true;
    });
    if (isRemoved) this.#declared.delete(queue);
    return isRemoved;
  }

  /** Makes sure that a queue to consume from is there. @throws BerthError as `declare`; `not_found / no_such_queue`. */
  async provide(spec: QueueSpec): Promise<void> {
    if (this.#declares) await this.#ensure(spec);
    else await this.run(spec.name, (channel) => findQueue(channel, spec));
  }

  /** A queue of calls may still be there as versions before 0.1 declared it: it is used as it is until it goes. */
  async #ensure(spec: QueueSpec): Promise<void> {
    try {
      await this.run(spec.name, (channel) => declareQueue(channel, spec));
    } catch (thrown) {
      if (spec.kind !== 'transient' || BerthError.from(thrown).reason !== 'queue_mismatch') throw thrown;
      this.#log.warn(
        { event: 'bus_queue_of_old_version', queue: spec.name },
        'uses a queue as an older version made it',
      );
      await this.run(spec.name, (channel) => bindEntrance(channel, spec));
    }
  }

  /** Runs work that may cost the channel, after all work before it. */
  run<T>(what: string, work: (channel: Channel) => Promise<T>): Promise<T> {
    const result = this.#last.then(() => this.#runNow(what, work));
    this.#last = result.catch(() => {});
    return result;
  }

  /** A queue whose broker does not answer (it has no quorum) must not keep everyone else waiting. */
  async #runNow<T>(what: string, work: (channel: Channel) => Promise<T>): Promise<T> {
    const opened = this.#open();
    const result = opened.then(work);
    if (await endsWithin(result, ANSWER_TIMEOUT_MS, this.#clock)) return result;
    this.#channel = undefined;
    void opened.then(closeQuietly, () => {});
    throw noAnswer(what);
  }

  async #open(): Promise<Channel> {
    if (this.#channel !== undefined) return this.#channel;
    if (this.#model === undefined) throw notConnected();
    const channel = await this.#model.createChannel();
    // The answer to whoever asked says it better; without listeners it would end the process.
    channel.on('error', (error) =>
      this.#log.debug({ event: 'bus_channel_closed', error }, 'channel closed by the broker'),
    );
    channel.on('handler-error', (error) =>
      this.#log.error({ event: 'bus_listener_threw', error }, 'a listener of a channel threw'),
    );
    channel.on('close', () => {
      if (this.#channel === channel) this.#channel = undefined;
    });
    this.#channel = channel;
    return channel;
  }

  async close(): Promise<void> {
    await closeQuietly(this.#channel);
  }
}
