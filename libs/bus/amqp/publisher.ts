import { type ConfirmChannel, IllegalOperationError, type Options } from 'amqplib';
import type { Surroundings } from '../../runtime/service';
import { Fifo } from '../fifo';
import { KeptChannel } from './kept-channel';
import type { Link } from './link';
import type { Outcome } from './outcome';

/** A message on its way to the broker. */
export interface Publication {
  readonly exchange: string;
  readonly routingKey: string;
  readonly content: Buffer;
  readonly options: Options.Publish;
  /** When its sender stops waiting: what expires does so by this time, however long it waited here. */
  readonly deadlineMs: number;
  /** Called once. */
  settle(outcome: Outcome): void;
  /** False when nobody waits for it any more: then it is not sent. */
  isWanted(): boolean;
}

export interface PublisherSettings {
  readonly name: string;
  readonly window: number;
  readonly maxWaiting: number;
  /** Makes a new channel ready for more than publishing. */
  prepare?(channel: ConfirmChannel): Promise<void>;
  /** The channel is gone. */
  lost?(): void;
}

interface Unconfirmed {
  readonly publication: Publication;
  isReturned: boolean;
}

/**
 * Publishes with confirms, a window of them at a time: waiting for each alone would cap a process at some 2,000 messages
 * a second. What does not fit waits in line, as it does while amqplib's write buffer is full.
 */
export class Publisher {
  readonly #settings: PublisherSettings;
  readonly #around: Surroundings;
  readonly #kept: KeptChannel<ConfirmChannel>;
  readonly #waiting = new Fifo<Publication>();
  readonly #unconfirmed = new Set<Unconfirmed>();
  #isWritable = true;
  #onIdle: (() => void)[] = [];

  constructor(link: Link, settings: PublisherSettings, around: Surroundings) {
    this.#settings = settings;
    this.#around = around;
    this.#kept = new KeptChannel<ConfirmChannel>(
      link,
      {
        name: settings.name,
        create: (model) => model.createConfirmChannel(),
        prepare: (channel) => this.#prepare(channel),
        lost: () => this.#lose(),
      },
      around,
    );
    link.add(this.#kept);
  }

  get isReady(): boolean {
    return this.#kept.channel !== undefined;
  }

  /** Messages that the broker has not confirmed, or has not got, yet. */
  get openCount(): number {
    return this.#unconfirmed.size + this.#waiting.size;
  }

  send(publication: Publication): void {
    const channel = this.#kept.channel;
    if (channel === undefined) return publication.settle('unsent');
    if (this.#waiting.size === 0 && this.#hasRoom()) return this.#publish(channel, publication);
    this.#forgetUnwanted();
    if (this.#waiting.size >= this.#settings.maxWaiting) return publication.settle('overload');
    this.#waiting.push(publication);
  }

  /** Resolves when nothing is under way. */
  idle(): Promise<void> {
    if (this.openCount === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  close(): Promise<void> {
    return this.#kept.close();
  }

  async #prepare(channel: ConfirmChannel): Promise<void> {
    this.#isWritable = true;
    channel.on('drain', () => {
      this.#isWritable = true;
      this.#sendWaiting();
    });
    channel.on('return', ({ fields, properties }) => this.#markReturned(fields.routingKey, properties.messageId));
    await this.#settings.prepare?.(channel);
  }

  #hasRoom(): boolean {
    return this.#isWritable && this.#unconfirmed.size < this.#settings.window;
  }

  #publish(channel: ConfirmChannel, publication: Publication): void {
    const entry = { publication, isReturned: false };
    const { exchange, routingKey, content, options } = publication;
    try {
      this.#isWritable = channel.publish(exchange, routingKey, content, options, (error: Error | null) =>
        this.#onConfirm(entry, error),
      );
      this.#unconfirmed.add(entry);
    } catch (error) {
      publication.settle(error instanceof IllegalOperationError ? 'unsent' : (error as Error));
    }
  }

  #onConfirm(entry: Unconfirmed, error: Error | null): void {
    this.#unconfirmed.delete(entry);
    entry.publication.settle(outcomeOf(entry, error));
    this.#sendWaiting();
  }

  #sendWaiting(): void {
    while (this.#waiting.size > 0 && this.#hasRoom()) {
      const channel = this.#kept.channel;
      const publication = this.#waiting.shift();
      if (channel === undefined || publication === undefined) break;
      if (publication.isWanted()) this.#publish(channel, this.#shortened(publication));
    }
    if (this.openCount > 0) return;
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  /** While nothing can be sent, those who gave up must not take the room of others. The oldest give up first. */
  #forgetUnwanted(): void {
    while (this.#waiting.first()?.isWanted() === false) this.#waiting.shift();
  }

  /** What expires after a time must not get that time anew after it has waited here. */
  #shortened(publication: Publication): Publication {
    if (publication.options.expiration === undefined) return publication;
    const leftMs = Math.max(0, Math.ceil(publication.deadlineMs - this.#around.clock.now()));
    publication.options.expiration = leftMs;
    return publication;
  }

  /**
   * A return comes before the confirm of the same message and carries no delivery tag. It belongs to the oldest message
   * with the same id and queue that none was found for yet, because the broker works in order.
   */
  #markReturned(routingKey: string, messageId: unknown): void {
    for (const entry of this.#unconfirmed) {
      const { publication, isReturned } = entry;
      if (isReturned || publication.routingKey !== routingKey || publication.options.messageId !== messageId) continue;
      entry.isReturned = true;
      return;
    }
  }

  /** amqplib has called back for what was unconfirmed; what waited here was never sent. */
  #lose(): void {
    for (let p = this.#waiting.shift(); p !== undefined; p = this.#waiting.shift()) p.settle('unsent');
    this.#settings.lost?.();
    this.#sendWaiting();
  }
}

/** amqplib 2.3 tells a nack from a lost channel by the text alone. */
function outcomeOf({ isReturned }: Unconfirmed, error: Error | null): Outcome {
  if (error === null) return isReturned ? 'returned' : 'confirmed';
  return error.message === 'message nacked' ? 'refused' : 'lost';
}
