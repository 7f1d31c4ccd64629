import type { Channel, ChannelModel } from 'amqplib';
import type { QueueSpec } from '../../contracts/queues';
import type { Clock } from '../../domain/clock';
import type { Log } from '../../runtime/log';
import type { Surroundings } from '../../runtime/service';
import { endsWithin } from '../handling/running-handlers';
import type { Attachment } from './connection';
import { closeQuietly } from './reopening-channel';
import { declareBase, declareQueue, noAnswer, notConnected } from './topology';

const ANSWER_TIMEOUT_MS = 10_000;

/**
 * Declares and asks, one thing after the other on a channel of its own, because the broker answers a wrong question by
 * closing the channel. Remembers what was declared, and declares it again on each new connection.
 */
export class Admin implements Attachment {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #declared = new Map<string, QueueSpec>();
  #model: ChannelModel | undefined;
  #channel: Channel | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor({ log, clock }: Surroundings) {
    this.#log = log;
    this.#clock = clock;
  }

  async attach(model: ChannelModel): Promise<void> {
    this.#model = model;
    this.#channel = undefined;
    const declareAgain = (queue: string, work: (channel: Channel) => Promise<void>) =>
      this.run(queue, work).catch((error: unknown) =>
        this.#log.error({ event: 'bus_declare_failed', queue, error }, 'could not declare a queue'),
      );
    await declareAgain('dead-letters', declareBase);
    for (const spec of this.#declared.values()) await declareAgain(spec.name, (channel) => declareQueue(channel, spec));
  }

  /** @throws BerthError `failed_precondition / queue_mismatch`, `unavailable`. */
  async declare(spec: QueueSpec): Promise<void> {
    await this.run(spec.name, (channel) => declareQueue(channel, spec));
    this.#declared.set(spec.name, spec);
  }

  /** Runs work that may cost the channel, after all work before it. */
  run<T>(what: string, work: (channel: Channel) => Promise<T>): Promise<T> {
    const result = this.#last.then(() => this.#runNow(what, work));
    this.#last = result.catch(() => {});
    return result;
  }

  /** A queue whose broker does not answer (it has no quorum) must not keep everyone else waiting. */
  async #runNow<T>(what: string, work: (channel: Channel) => Promise<T>): Promise<T> {
    const channel = await this.#open();
    const result = work(channel);
    if (await endsWithin(result, ANSWER_TIMEOUT_MS, this.#clock)) return result;
    this.#channel = undefined;
    channel.close().catch(() => {});
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
