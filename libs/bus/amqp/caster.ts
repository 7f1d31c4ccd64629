import type { Options } from 'amqplib';
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
import { Publisher } from './publisher';
import { connectionLost, EVENTS_EXCHANGE } from './topology';

const MEANINGS: Meanings = { returned: noSuchQueue, lost: connectionLost };

/** Casts, events and dead letters: what is safe with the broker once its promise resolves. */
export class Caster {
  readonly #around: Surroundings;
  readonly #config: BusConfig;
  readonly #metrics: BusMetrics;
  readonly #publisher: Publisher;

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
    return this.#publisher.openCount;
  }

  cast(queue: string, message: OutgoingMessage, options: CastOptions): Promise<void> {
    const { id, replyTo, correlationId, isTransient = false } = options;
    const properties = propertiesOf(message, id ?? this.#around.random.uuid());
    properties.persistent = !isTransient;
    if (replyTo !== undefined) properties.replyTo = replyTo;
    if (correlationId !== undefined) properties.correlationId = correlationId;
    properties.mandatory = true;
    return this.#send('', queue, message.body, properties);
  }

  publish(topic: string, message: OutgoingMessage): Promise<void> {
    const properties = propertiesOf(message, this.#around.random.uuid());
    properties.persistent = true;
    return this.#send(EVENTS_EXCHANGE, topic, message.body, properties);
  }

  /** Puts a message of `queue` into the dead letters as it came, with the reason in its headers. */
  bury({ type, body, id, sender, correlationId, replyTo }: Delivery, error: BerthError, queue: string): Promise<void> {
    return this.#send('', DEAD_LETTERS, body, {
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
    return this.#publisher.idle();
  }

  close(): Promise<void> {
    return this.#publisher.close();
  }

  #send(exchange: string, routingKey: string, body: Uint8Array, options: Options.Publish): Promise<void> {
    const { confirmTimeoutMs } = this.#config;
    return new Promise((resolve, reject) => {
      let isWanted = true;
      const settle = (outcome: Outcome) => {
        isWanted = false;
        cancelTimer();
        if (outcome === 'confirmed') resolve();
        else reject(countNotSent(this.#metrics, errorOf(outcome, routingKey, MEANINGS)));
      };
      const cancelTimer = this.#around.clock.after(confirmTimeoutMs, () => {
        isWanted = false;
        reject(countNotSent(this.#metrics, notConfirmed(routingKey, confirmTimeoutMs)));
      });
      this.#publisher.send({
        exchange,
        routingKey,
        content: bufferOf(body),
        options,
        deadlineMs: Infinity,
        settle,
        isWanted: () => isWanted,
      });
    });
  }
}

function notConfirmed(queue: string, timeoutMs: number): BerthError {
  return new BerthError(
    'unavailable',
    'not_confirmed',
    `the broker did not confirm a message to '${queue}' within ${timeoutMs} ms; it may have it: send it again with the same id`,
  );
}
