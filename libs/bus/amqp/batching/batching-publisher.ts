import type { Options } from 'amqplib';
import type { Connection } from '../../../amqp/connection';
import { withoutCell } from '../../../contracts/cells';
import { EVENTS_EXCHANGE } from '../../../contracts/queues';
import type { RuntimeDeps } from '../../../runtime/service';
import { bufferOf } from '../message';
import { type Publication, Publisher, type PublisherSettings } from '../publisher';
import { fitsInFrame, frameCodec, framedMessage } from './frame';
import { FrameBatches } from './frame-batches';

/**
 * A publisher whose messages to a batching queue share frames with others of the same callback. Each message keeps its
 * own promise, expiry and outcome; a frame has one confirm.
 *
 * Publications to queues keep their order, except messages of one callback to different queues or with different
 * delivery modes or expiries.
 */
export class BatchingPublisher {
  readonly #publisher: Publisher;
  readonly #batches = new FrameBatches<Publication>(
    ({ content }) => content.length,
    (publications) => this.#sendTogether(publications),
  );

  constructor(connection: Connection, settings: PublisherSettings, around: RuntimeDeps) {
    this.#publisher = new Publisher(connection, settings, around);
  }

  get isReady(): boolean {
    return this.#publisher.isReady;
  }

  /** Messages not confirmed, or not sent yet; those of a sent frame count as one. */
  get openCount(): number {
    return this.#publisher.openCount + this.#batches.size;
  }

  /** Publishes at once, or, to a batching queue (`QueueSpec.batching`), at the end of the callback with others. */
  send(publication: Publication, isBatching: boolean): void {
    const { exchange, routingKey, options } = publication;
    if (isBatching && fitsInFrame(options)) {
      const { persistent = false, expiration = '', replyTo = '' } = options;
      return this.#batches.add(`${routingKey} ${persistent} ${expiration} ${replyTo}`, publication);
    }
    // Events go to another exchange, and may overtake.
    if (withoutCell(exchange) !== EVENTS_EXCHANGE) this.#batches.flush();
    this.#publisher.send(publication);
  }

  /** Resolves when the broker has all sent messages. */
  idle(): Promise<void> {
    this.#batches.flush();
    return this.#publisher.idle();
  }

  close(): Promise<void> {
    return this.#publisher.close();
  }

  /** A single message is sent without a frame. */
  #sendTogether(publications: readonly Publication[]): void {
    const wanted = publications.filter((publication) => publication.isWanted());
    const [first] = wanted;
    if (first === undefined) return;
    this.#publisher.send(wanted.length === 1 ? first : frameOf(first, wanted));
  }
}

function frameOf(first: Publication, publications: readonly Publication[]): Publication {
  const { exchange, routingKey, deadlineMs } = first;
  const { messageId = '', persistent = false, expiration, replyTo, userId = '' } = first.options;
  const options: Options.Publish = { type: frameCodec.type, messageId, persistent, userId, mandatory: true };
  if (expiration !== undefined) options.expiration = expiration;
  if (replyTo !== undefined) options.replyTo = replyTo;
  return {
    exchange,
    routingKey,
    content: bufferOf(frameCodec.encode(publications.map(({ options: own, content }) => framedMessage(own, content)))),
    options,
    deadlineMs,
    settle: (error) => {
      for (const publication of publications) publication.settle(error);
    },
    isWanted: () => publications.some((publication) => publication.isWanted()),
  };
}
