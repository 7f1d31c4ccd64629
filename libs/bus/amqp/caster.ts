import type { Options } from 'amqplib';
import type { PackedMessage } from '../../contracts/pack';
import { BerthError } from '../../domain/errors';
import type { Surroundings } from '../../runtime/service';
import { type BusMetrics, countNotSent } from '../bus-metrics';
import { deadLetterHeaders } from '../dead-letter';
import type { Delivery } from '../delivery';
import type { BusConfig } from '../options';
import { type CastOptions, DEAD_LETTERS, type OutgoingMessage } from '../port';
import { noSuchQueue } from '../refusals';
import type { Link } from './link';
import { bufferOf, propertiesOf } from './message';
import { errorOf, type Meanings, type Outcome } from './outcome';
import { fitsInPack, Packs, sealed } from './packs';
import { Publisher } from './publisher';
import { connectionLost, EVENTS_EXCHANGE } from './topology';

const MEANINGS: Meanings = { returned: noSuchQueue, lost: connectionLost };

/**
 * Casts, events and dead letters: what is safe with the broker once its promise resolves.
 *
 * Casts leave in the order in which they were given: before one goes alone, what waits for the end of the turn to go in
 * packs goes. Only packs to different queues, and packs of transient casts and of others, may change places. An event
 * leaves at once: maybe before the casts before it, never after those after it.
 */
export class Caster {
  readonly #around: Surroundings;
  readonly #config: BusConfig;
  readonly #metrics: BusMetrics;
  readonly #publisher: Publisher;
  readonly #packs = new Packs<WaitingCast>((_, casts) => this.#sendPack(casts));

  constructor(link: Link, config: BusConfig, metrics: BusMetrics, around: Surroundings) {
    this.#metrics = metrics;
    this.#around = around;
    this.#config = config;
    const settings = { name: 'casts', window: config.publishWindow, maxWaiting: config.maxWaiting };
    this.#publisher = new Publisher(link, settings, around);
  }

  get isReady(): boolean {
    return this.#publisher.isReady;
  }

  get openCount(): number {
    return this.#publisher.openCount + this.#packs.size;
  }

  cast(queue: string, message: OutgoingMessage, options: CastOptions): Promise<void> {
    const { replyTo, isTransient = false, isPackable = false } = options;
    const sent = this.#asSent(message, options);
    if (isPackable && replyTo === undefined && fitsInPack(sent)) return this.#pack(queue, isTransient, sent);
    const properties = propertiesOf(sent);
    properties.persistent = !isTransient;
    if (replyTo !== undefined) properties.replyTo = replyTo;
    properties.mandatory = true;
    return this.#sendAlone(queue, message.body, properties);
  }

  publish(topic: string, message: OutgoingMessage): Promise<void> {
    const properties = propertiesOf(this.#asSent(message, {}));
    properties.persistent = true;
    return this.#publish(EVENTS_EXCHANGE, topic, bufferOf(message.body), properties, 1);
  }

  /** Puts a message of `queue` into the dead letters as it came, with the reason in its headers. */
  bury({ type, body, id, sender, correlationId, replyTo }: Delivery, error: BerthError, queue: string): Promise<void> {
    return this.#sendAlone(DEAD_LETTERS, body, {
      type,
      messageId: id,
      appId: sender,
      ...(correlationId === undefined ? {} : { correlationId }),
      ...(replyTo === undefined ? {} : { replyTo }),
      headers: deadLetterHeaders(error, queue),
      persistent: true,
      mandatory: true,
    });
  }

  /** Resolves when the broker has all that was sent. */
  idle(): Promise<void> {
    this.#packs.flush();
    return this.#publisher.idle();
  }

  close(): Promise<void> {
    return this.#publisher.close();
  }

  #asSent({ type, body, sender = '' }: OutgoingMessage, { id, correlationId = '' }: CastOptions): PackedMessage {
    return { type, body, sender, correlationId, messageId: id ?? this.#around.random.uuid() };
  }

  #pack(queue: string, isTransient: boolean, sent: PackedMessage): Promise<void> {
    const { type, body, sender, correlationId, messageId } = sent;
    return new Promise((resolve, reject) => {
      const cast = { queue, isTransient, type, body, sender, correlationId, messageId, resolve, reject };
      this.#packs.add(`${isTransient} ${queue}`, cast);
    });
  }

  #sendPack(casts: readonly WaitingCast[]): void {
    const [first] = casts;
    if (first === undefined) return;
    const { queue, isTransient } = first;
    const { content, options } = sealed(casts, this.#around.random);
    options.persistent = !isTransient;
    options.mandatory = true;
    const succeed = () => {
      for (const { resolve } of casts) resolve();
    };
    const fail = (error: unknown) => {
      for (const { reject } of casts) reject(error);
    };
    void this.#publish('', queue, content, options, casts.length).then(succeed, fail);
  }

  #sendAlone(queue: string, body: Uint8Array, options: Options.Publish): Promise<void> {
    this.#packs.flush();
    return this.#publish('', queue, bufferOf(body), options, 1);
  }

  /** @param count  how many casts are in it */
  #publish(
    exchange: string,
    routingKey: string,
    content: Buffer,
    options: Options.Publish,
    count: number,
  ): Promise<void> {
    const { confirmTimeoutMs } = this.#config;
    return new Promise((resolve, reject) => {
      let isWanted = true;
      const settle = (outcome: Outcome) => {
        isWanted = false;
        cancelTimer();
        if (outcome === 'confirmed') resolve();
        else reject(countNotSent(this.#metrics, errorOf(outcome, routingKey, MEANINGS), count));
      };
      const cancelTimer = this.#around.clock.after(confirmTimeoutMs, () => {
        isWanted = false;
        reject(countNotSent(this.#metrics, notConfirmed(routingKey, confirmTimeoutMs), count));
      });
      this.#publisher.send({
        exchange,
        routingKey,
        content,
        options,
        deadlineMs: Infinity,
        settle,
        isWanted: () => isWanted,
      });
    });
  }
}

/** A cast as it waits for the end of the turn. */
interface WaitingCast extends PackedMessage {
  readonly queue: string;
  readonly isTransient: boolean;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

function notConfirmed(queue: string, timeoutMs: number): BerthError {
  return new BerthError(
    'unavailable',
    'not_confirmed',
    `the broker did not confirm a message to '${queue}' within ${timeoutMs} ms; it may have it: send it again with the same id`,
  );
}
