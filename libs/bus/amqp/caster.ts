import type { Options } from 'amqplib';
import { isBatching, type QueueAddress, queueName } from '../../contracts/queues';
import type { BerthError } from '../../domain/errors';
import type { Surroundings } from '../../runtime/service';
import { noSuchQueue } from '../errors';
import { type BusMetrics, countNotSent } from '../handling/bus-metrics';
import { deadLetterHeaders } from '../handling/dead-letter';
import type { Delivery } from '../handling/delivery';
import type { BusConfig } from '../options';
import { type CastOptions, DEAD_LETTERS, type OutgoingMessage } from '../port';
import { BatchingPublisher } from './batching/batching-publisher';
import type { Connection } from './connection';
import { bufferOf, outgoingProperties } from './message';
import { connectionLost, EVENTS_EXCHANGE } from './topology';

/** Casts, events and dead letters: what is safe with the broker once its promise resolves. */
export class Caster {
  readonly #around: Surroundings;
  readonly #metrics: BusMetrics;
  readonly publisher: BatchingPublisher;

  constructor(connection: Connection, config: BusConfig, metrics: BusMetrics, around: Surroundings) {
    this.#metrics = metrics;
    this.#around = around;
    const settings = { ...config, name: 'casts', noQueue: noSuchQueue, outcomeUnknown: connectionLost };
    this.publisher = new BatchingPublisher(connection, settings, around);
  }

  cast(queue: QueueAddress, message: OutgoingMessage, options: CastOptions): Promise<void> {
    const { replyTo, isTransient = false } = options;
    const properties = this.#propertiesOf(message, options);
    properties.persistent = !isTransient;
    properties.mandatory = true;
    if (replyTo !== undefined) properties.replyTo = replyTo;
    return this.#publish('', queueName(queue), message.body, properties, isBatching(queue));
  }

  publish(topic: string, message: OutgoingMessage): Promise<void> {
    const properties = this.#propertiesOf(message, {});
    properties.persistent = true;
    return this.#publish(EVENTS_EXCHANGE, topic, message.body, properties, false);
  }

  /** Puts a message into a queue as a message of its own, with the properties given. Errors as `Bus.cast`. */
  put(queue: string, body: Uint8Array, properties: Options.Publish): Promise<void> {
    return this.#publish('', queue, body, { ...properties, mandatory: true }, false);
  }

  /** Puts a message of `queue` into the dead letters as it came, with the reason in its headers. */
  bury({ type, body, id, sender, correlationId, replyTo }: Delivery, error: BerthError, queue: string): Promise<void> {
    return this.put(DEAD_LETTERS, body, {
      ...outgoingProperties(type, id, sender, correlationId),
      ...(replyTo === undefined ? {} : { replyTo }),
      headers: deadLetterHeaders(error, queue),
      persistent: true,
    });
  }

  #propertiesOf({ type, sender }: OutgoingMessage, { id, correlationId }: CastOptions): Options.Publish {
    return outgoingProperties(type, id ?? this.#around.random.uuid(), sender, correlationId);
  }

  #publish(
    exchange: string,
    routingKey: string,
    body: Uint8Array,
    options: Options.Publish,
    mayShareFrame: boolean,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error?: BerthError) => {
        if (error === undefined) resolve();
        else reject(countNotSent(this.#metrics, error));
      };
      const content = bufferOf(body);
      const publication = { exchange, routingKey, content, options, deadlineMs: Infinity, settle, isWanted: always };
      this.publisher.send(publication, mayShareFrame);
    });
  }
}

function always(): boolean {
  return true;
}
