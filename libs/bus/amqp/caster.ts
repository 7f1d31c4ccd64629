import type { Options } from 'amqplib';
import { connectionLost } from '../../amqp/broker-errors';
import type { Connection } from '../../amqp/connection';
import { cellOf, inCell, queueInCell } from '../../contracts/cells';
import { EVENTS_EXCHANGE, isBatching, type QueueAddress, type QueueSpec } from '../../contracts/queues';
import type { BerthError } from '../../domain/errors';
import type { RuntimeDeps } from '../../runtime/service';
import { noSuchQueue } from '../errors';
import { type BusMetrics, countNotSent } from '../handling/bus-metrics';
import { DEAD_LETTER_QUEUE, deadLetterHeaders, droppedBodyHeaders, keptBody } from '../handling/dead-letter';
import type { Delivery } from '../handling/delivery';
import { keptTrace, traceHeaders } from '../handling/trace-messages';
import type { BusConfig } from '../options';
import type { CastOptions, OutgoingMessage } from '../port';
import { BatchingPublisher } from './batching/batching-publisher';
import {
  bufferOf,
  cutProperties,
  DELIVERIES_HEADER,
  expirationOf,
  outgoingProperties,
  POSTPONED_HEADER,
} from './message';
import { onBehalfOf } from './origin';
import { type Route, routeTo } from './route';

/** Shared by all that publish on a bus. */
export interface Sending {
  readonly metrics: BusMetrics;
  /** Called when the broker has closed the channel, as after a publication to a missing exchange. */
  readonly lost: () => void;
}

/** Casts, events and dead letters: the broker has the message once the promise resolves. */
export class Caster {
  readonly #around: RuntimeDeps;
  readonly #metrics: BusMetrics;
  readonly #user: string;
  readonly #events: string;
  readonly publisher: BatchingPublisher;

  constructor(connection: Connection, config: BusConfig, around: RuntimeDeps, { metrics, lost }: Sending) {
    this.#metrics = metrics;
    this.#user = connection.user;
    this.#events = inCell(config.cell, EVENTS_EXCHANGE);
    this.#around = around;
    const settings = { ...config, name: 'casts', noQueue: noSuchQueue, outcomeUnknown: connectionLost, lost };
    this.publisher = new BatchingPublisher(connection, settings, around);
  }

  cast(queue: QueueAddress, message: OutgoingMessage, options: CastOptions): Promise<void> {
    const { replyTo, isTransient = false, expiresInMs } = options;
    const properties = this.#propertiesOf(message, options);
    properties.persistent = !isTransient;
    properties.mandatory = true;
    if (replyTo !== undefined) properties.replyTo = replyTo;
    if (expiresInMs !== undefined) properties.expiration = expirationOf(expiresInMs);
    return this.#publish(routeTo(queue, this.#user), message.body, properties, {
      mayShareFrame: isBatching(queue),
      expiresInMs,
    });
  }

  publish(topic: string, message: OutgoingMessage): Promise<void> {
    const properties = this.#propertiesOf(message, {});
    properties.persistent = true;
    return this.#publish({ exchange: this.#events, routingKey: topic }, message.body, properties);
  }

  /** Puts a message into a queue with the given properties. Errors as in `Bus.cast`. */
  put(queue: QueueSpec, body: Uint8Array, properties: Options.Publish): Promise<void> {
    return this.#publish(routeTo(queue, this.#user), body, { ...cutProperties(properties), mandatory: true });
  }

  /** Dead-letters a message of `queue` unchanged in its cell, with the reason in its headers. */
  bury(delivery: Delivery, error: BerthError, queue: string): Promise<void> {
    const headers = { ...deadLetterHeaders(error, queue), ...droppedBodyHeaders(delivery) };
    return this.#sendOn(queueInCell(cellOf(queue), DEAD_LETTER_QUEUE), delivery, headers, { body: keptBody(delivery) });
  }

  /** Republishes a message at the end of its queue without counting this delivery. Its expiry stays. */
  postpone(delivery: Delivery, queue: QueueSpec): Promise<void> {
    const postponedAtMs = delivery.postponedAtMs ?? this.#around.clock.now();
    const headers = { [DELIVERIES_HEADER]: delivery.deliveries - 1, [POSTPONED_HEADER]: postponedAtMs };
    return this.#sendOn(queue, delivery, headers, delivery);
  }

  /** Republishes a call at the end of its queue with all deliveries counted. Its expiry stays. */
  recount(delivery: Delivery, queue: QueueSpec): Promise<void> {
    const headers = { [DELIVERIES_HEADER]: delivery.deliveries - 1 };
    return this.#sendOn(queue, delivery, headers, delivery);
  }

  #sendOn(
    queue: QueueSpec,
    delivery: Delivery,
    headers: Record<string, unknown>,
    { body, deadlineMs }: { readonly body: Uint8Array; readonly deadlineMs?: number | undefined },
  ): Promise<void> {
    const { type, id, sender, correlationId, replyTo, identity } = delivery;
    return this.put(queue, body, {
      ...outgoingProperties(type, id, sender, correlationId),
      ...(replyTo === undefined ? {} : { replyTo }),
      ...(deadlineMs === undefined ? {} : { expiration: expirationOf(deadlineMs - this.#around.clock.elapsed()) }),
      headers: { ...keptTrace(delivery), ...headers, ...onBehalfOf(identity) },
      persistent: true,
    });
  }

  #propertiesOf({ type, sender }: OutgoingMessage, options: CastOptions): Options.Publish {
    const { id = this.#around.random.uuid(), correlationId, onBehalfOf: identity } = options;
    const properties = outgoingProperties(type, id, sender, correlationId);
    const traced = traceHeaders();
    if (identity !== undefined || traced !== undefined) properties.headers = { ...traced, ...onBehalfOf(identity) };
    return properties;
  }

  #publish(
    { exchange, routingKey }: Route,
    body: Uint8Array,
    options: Options.Publish,
    {
      mayShareFrame = false,
      expiresInMs = Infinity,
    }: { mayShareFrame?: boolean; expiresInMs?: number | undefined } = {},
  ): Promise<void> {
    options.userId = this.#user;
    const deadlineMs = this.#around.clock.elapsed() + expiresInMs;
    return new Promise((resolve, reject) => {
      const settle = (error?: BerthError) => {
        if (error === undefined) resolve();
        else reject(countNotSent(this.#metrics, error));
      };
      const content = bufferOf(body);
      const publication = { exchange, routingKey, content, options, deadlineMs, settle, isWanted: always };
      this.publisher.send(publication, mayShareFrame);
    });
  }
}

function always(): boolean {
  return true;
}
