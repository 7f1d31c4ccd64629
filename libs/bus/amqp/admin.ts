import type { Channel, ChannelModel } from 'amqplib';
import { ANSWER_TIMEOUT_MS, noAnswer } from '../../amqp/broker-errors';
import type { Attachment } from '../../amqp/connection';
import { closeQuietly } from '../../amqp/reopening-channel';
import { cellOf, inCell, queueInCell } from '../../contracts/cells';
import { identityOf, sendsByEntrances } from '../../contracts/identity';
import { EVENTS_EXCHANGE, type QueueSpec, REPORTS_EXCHANGE, REQUESTS_EXCHANGE } from '../../contracts/queues';
import type { Clock } from '../../domain/clock';
import { BerthError } from '../../domain/errors';
import type { Random } from '../../domain/random';
import { endsWithin } from '../../runtime/ends-within';
import type { Log } from '../../runtime/log';
import type { RuntimeDeps } from '../../runtime/service';
import { DEAD_LETTER_QUEUE } from '../handling/dead-letter';
import { type DeclareOptions, isDeadLetters } from '../port';
import {
  bindEntrance,
  bindEvents,
  declareEventQueue,
  declareEvents,
  declareQueue,
  findQueue,
  notConnected,
} from './topology';

/** Approximate interval between checks that exchanges, bindings and queues still exist. */
const CHECK_MS = 5_000;

/**
 * Declares and queries one thing at a time on its own channel, since the broker answers an invalid query by closing the
 * channel. Remembers the declarations and repeats them on each new connection, and every few seconds: exchanges, queues
 * and bindings may be deleted while the connection lives, and the broker does not notify of a deleted binding. For
 * users who send by entrances, services declare: exchanges and queues are only looked up.
 */
export class Admin implements Attachment {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #cell: string;
  readonly #declares: boolean;
  readonly #exchanges: readonly string[];
  readonly #random: Random;
  readonly #declared = new Map<string, QueueSpec>();
  /**
   * Queues that an older version declared with other arguments. Checking again costs a channel, and a line in the
   * broker's log.
   */
  readonly #ofOldVersion = new Set<string>();
  /** The event queues of this connection, with their patterns. */
  readonly #hearing = new Map<string, string>();
  #model: ChannelModel | undefined;
  #channel: Channel | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isWhole = true;
  #isClosed = false;
  #isChecking = false;
  #cancelCheck: (() => void) | undefined;

  constructor(user: string, cell: string, { log, clock, random }: RuntimeDeps) {
    this.#cell = cell;
    this.#log = log;
    this.#clock = clock;
    this.#random = random;
    this.#declares = !sendsByEntrances(user);
    this.#exchanges = exchangesOf(user).map((name) => inCell(cell, name));
  }

  /** True when the last check found all exchanges that this user needs. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  async attach(model: ChannelModel): Promise<void> {
    this.#model = model;
    this.#channel = undefined;
    // Those of the former connection went with it.
    this.#hearing.clear();
    this.#checkLater();
    if (!this.#declares) {
      this.#isWhole = true;
      return;
    }
    const declareAgain = (queue: string, work: () => Promise<void>) =>
      work().catch((error: unknown) =>
        this.#log.error({ event: 'bus_declare_failed', queue, error }, 'queue not declared'),
      );
    await declareAgain('events', () => this.run('events', (channel) => declareEvents(channel, this.#cell)));
    const deadLetters = queueInCell(this.#cell, DEAD_LETTER_QUEUE);
    await declareAgain(deadLetters.name, () => this.#ensure(deadLetters));
    for (const spec of this.#declared.values()) await declareAgain(spec.name, () => this.#ensure(spec));
    this.#isWhole = true;
  }

  /**
   * Checks all declarations and repeats them. Runs every few seconds, and when the broker closes a channel, as it does
   * after a publication to a deleted exchange. Never rejects.
   */
  async check(): Promise<void> {
    if (this.#isChecking || this.#isClosed || this.#model === undefined) return;
    this.#isChecking = true;
    const model = this.#model;
    try {
      if (!(await this.#hasExchanges())) {
        this.#isWhole = false;
        this.#log.warn({ event: 'bus_topology_missing' }, 'an exchange is gone from the broker');
      }
      if (this.#declares) await this.#declareAll();
      for (const [queue, pattern] of this.#hearing) await this.#bindAgain(queue, pattern);
      if (!this.#isWhole && (await this.#hasExchanges())) {
        this.#isWhole = true;
        this.#log.info({ event: 'bus_topology_restored' }, 'the exchanges are there again');
      }
    } catch (error) {
      this.#log.debug({ event: 'bus_check_failed', error }, 'exchanges and queues not checked, retrying');
    } finally {
      this.#isChecking = false;
      if (this.#model === model) this.#checkLater();
    }
  }

  /** A queue vanishes with its cancelled listener. */
  async #bindAgain(queue: string, pattern: string): Promise<void> {
    try {
      await this.run(queue, (channel) => bindEvents(channel, queue, this.#cell, pattern));
    } catch (error) {
      if (/no queue/.test((error as Error).message)) this.#hearing.delete(queue);
      else throw error;
    }
  }

  async #hasExchanges(): Promise<boolean> {
    const entrances = [...this.#declared.values()].flatMap(({ entrance }) => (entrance ? [entrance.exchange] : []));
    for (const name of new Set([...this.#exchanges, ...entrances])) {
      const isThere = await this.run(name, (channel) => channel.checkExchange(name)).then(
        () => true,
        (error: unknown) => {
          if ((error as { code?: unknown }).code === 404) return false;
          throw error;
        },
      );
      if (!isThere) return false;
    }
    return true;
  }

  async #declareAll(): Promise<void> {
    await this.run('events', (channel) => declareEvents(channel, this.#cell));
    for (const spec of [queueInCell(this.#cell, DEAD_LETTER_QUEUE), ...this.#declared.values()])
      await this.#ensure(spec);
  }

  #checkLater(): void {
    this.#cancelCheck?.();
    if (this.#isClosed) return;
    this.#cancelCheck = this.#clock.after(CHECK_MS * (0.75 + this.#random.next() / 2), () => void this.check());
  }

  /** Declares a queue of this connection for topics, and keeps it bound. */
  async hear(name: string, pattern: string): Promise<string> {
    const queue = await this.run(pattern, (channel) => declareEventQueue(channel, name, this.#cell, pattern));
    this.#hearing.set(queue, pattern);
    return queue;
  }

  /** @throws BerthError `failed_precondition / queue_mismatch`, `unavailable`. */
  async declare(spec: QueueSpec, { isOnce = false }: DeclareOptions = {}): Promise<void> {
    if (!this.#declares) return;
    await this.#ensure(spec);
    if (!isOnce) this.#declared.set(spec.name, spec);
  }

  /**
   * Deletes a queue without consumers and its remembered declaration; false when it has consumers. They are counted
   * first, because quorum queues do not support `if-unused`.
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

  /** Ensures that a queue to consume from exists. @throws BerthError like `declare`; `not_found / no_such_queue`. */
  async provide(spec: QueueSpec): Promise<void> {
    if (this.#declares) await this.declare(spec);
    else await this.run(spec.name, (channel) => findQueue(channel, spec));
  }

  /**
   * A queue of calls, or of dead letters, may still exist with an older version's arguments: it is used as it is until
   * it is deleted.
   */
  async #ensure(spec: QueueSpec): Promise<void> {
    if (this.#isChecking && this.#ofOldVersion.has(spec.name) && (await this.#isStillThere(spec))) {
      return this.run(spec.name, (channel) => bindEntrance(channel, spec));
    }
    try {
      await this.run(spec.name, (channel) => declareQueue(channel, spec));
    } catch (thrown) {
      const isOfOldVersion = BerthError.from(thrown).reason === 'queue_mismatch';
      if (!isOfOldVersion || (spec.kind !== 'transient' && !isDeadLetters(spec.name))) throw thrown;
      const fields = { event: 'bus_queue_of_old_version', queue: spec.name };
      this.#log.warn(
        fields,
        'queue has the properties of an older version: delete it once it is empty, and it is declared anew',
      );
      this.#ofOldVersion.add(spec.name);
      await this.run(spec.name, (channel) => bindEntrance(channel, spec));
    }
  }

  /** Once an older version's queue is deleted, it is declared with this version's arguments. */
  async #isStillThere(spec: QueueSpec): Promise<boolean> {
    try {
      await this.run(spec.name, (channel) => findQueue(channel, spec));
      return true;
    } catch (thrown) {
      if (BerthError.from(thrown).reason !== 'no_such_queue') throw thrown;
      this.#ofOldVersion.delete(spec.name);
      return false;
    }
  }

  /** Runs work that may close the channel, after all earlier work. */
  run<T>(what: string, work: (channel: Channel) => Promise<T>): Promise<T> {
    const result = this.#last.then(() => this.#runNow(what, work));
    this.#last = result.catch(() => {});
    return result;
  }

  /** A queue whose broker does not answer (no quorum) must not block the others. */
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
    // The caller gets the error itself; an 'error' event without listeners would end the process.
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
    this.#isClosed = true;
    this.#cancelCheck?.();
    await closeQuietly(this.#channel);
  }
}

/** The exchanges that a user publishes to, or binds its queues to. */
function exchangesOf(user: string): readonly string[] {
  const identity = identityOf(user, cellOf(user));
  if (identity.kind === 'agent') return [REPORTS_EXCHANGE];
  if (identity.kind === 'project') return [REQUESTS_EXCHANGE, EVENTS_EXCHANGE];
  return sendsByEntrances(user) ? [REQUESTS_EXCHANGE, REPORTS_EXCHANGE, EVENTS_EXCHANGE] : [EVENTS_EXCHANGE];
}
