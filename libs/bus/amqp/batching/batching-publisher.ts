import type { Options } from 'amqplib';
import type { Connection } from '../../../amqp/connection';
import { withoutCell } from '../../../contracts/cells';
import { EVENTS_EXCHANGE } from '../../../contracts/queues';
import type { Surroundings } from '../../../runtime/service';
import { bufferOf } from '../message';
import { type Publication, Publisher, type PublisherSettings } from '../publisher';
import { fitsInFrame, frameCodec, framedMessage } from './frame';
import { FrameBatches } from './frame-batches';

/**
 * A publisher whose messages to a batching queue share frames with others of their callback: as many promises, expiries and
 * outcomes as messages, one confirm for all of a frame.
 *
 * The order of publications to queues is kept, but for messages to different queues, or of different
 * delivery modes or expiries, in one callback.
 */
export class BatchingPublisher {
  readonly #publisher: Publisher;
  readonly #batches = new FrameBatches<Publication>(
    ({ content }) => content.length,
    (publications) => this.#sendTogether(publications),
  );

  constructor(connection: Connection, settings: PublisherSettings, around: Surroundings) {
    this.#publisher = new Publisher(connection, settings, around);
  }

  get isReady(): boolean {
    return this.#publisher.isReady;
  }

  /** Messages that the broker has not confirmed, or has not got, yet; those of a frame that has left count as one. */
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
    // An event goes to another exchange, and may overtake.
    if (withoutCell(exchange) !== EVENTS_EXCHANGE) this.#batches.flush();
    this.#publisher.send(publication);
  }

  /** Resolves when the broker has all that was sent. */
  idle(): Promise<void> {
    this.#batches.flush();
    return this.#publisher.idle();
  }

  close(): Promise<void> {
    return this.#publisher.close();
  }

  /** One that is alone is the message that anybody would send. */
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
