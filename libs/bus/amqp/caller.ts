import type { ConfirmChannel, ConsumeMessage } from 'amqplib';
import { BerthError } from '../../domain/errors';
import type { Surroundings } from '../../runtime/service';
import { type BusMetrics, countNotSent } from '../bus-metrics';
import type { BusConfig } from '../options';
import type { CallOptions, OutgoingMessage } from '../port';
import { nobodyServes } from '../refusals';
import { Waiters } from '../waiters';
import type { Link } from './link';
import { bufferOf, propertiesOf } from './message';
import { errorOf, type Meanings } from './outcome';
import { Publisher } from './publisher';
import { declareAnswerQueue } from './topology';

/** The broker closes the channel of whoever asks for more. */
const MAX_EXPIRATION_MS = 2_147_483_647;

const MEANINGS: Meanings = { returned: nobodyServes, lost: outcomeUnknown };

/**
 * Calls and their answers, on a channel of their own. Answers come to one queue that lives as long as the connection and
 * belongs to it alone. Requests are confirmed, so that a missing or full queue is told at once instead of by silence.
 */
export class Caller {
  readonly #around: Surroundings;
  readonly #metrics: BusMetrics;
  readonly #waiters: Waiters;
  readonly #publisher: Publisher;
  #answerQueue = '';

  constructor(link: Link, config: BusConfig, metrics: BusMetrics, around: Surroundings) {
    this.#metrics = metrics;
    this.#around = around;
    this.#waiters = new Waiters(around.clock);
    this.#publisher = new Publisher(
      link,
      {
        name: 'calls',
        window: config.publishWindow,
        maxWaiting: config.maxWaiting,
        prepare: (channel) => this.#listen(channel),
        lost: () => this.#waiters.failAll(outcomeUnknown()),
      },
      around,
    );
  }

  get isReady(): boolean {
    return this.#publisher.isReady;
  }

  get waitingCount(): number {
    return this.#waiters.size;
  }

  call(queue: string, message: OutgoingMessage, options: CallOptions): Promise<Uint8Array> {
    const correlationId = this.#waiters.nextId();
    const answer = this.#waiters.wait(correlationId, queue, options);
    const properties = propertiesOf(message, options.id ?? this.#around.random.uuid());
    properties.correlationId = correlationId;
    properties.replyTo = this.#answerQueue;
    properties.expiration = Math.min(Math.max(0, Math.ceil(options.timeoutMs)), MAX_EXPIRATION_MS);
    properties.mandatory = true;
    this.#publisher.send({
      exchange: '',
      routingKey: queue,
      content: bufferOf(message.body),
      options: properties,
      deadlineMs: this.#around.clock.now() + options.timeoutMs,
      settle: (outcome) => {
        if (outcome === 'confirmed') return;
        this.#waiters.fail(correlationId, countNotSent(this.#metrics, errorOf(outcome, queue, MEANINGS)));
      },
      isWanted: () => this.#waiters.has(correlationId),
    });
    return answer;
  }

  async close(reason: BerthError): Promise<void> {
    this.#waiters.failAll(reason);
    await this.#publisher.close();
  }

  async #listen(channel: ConfirmChannel): Promise<void> {
    this.#answerQueue = await declareAnswerQueue(channel);
    const take = (message: ConsumeMessage | null) => {
      // Null: the broker has cancelled us, and nothing can come here any more.
      if (message === null) return void channel.close().catch(() => {});
      const { correlationId, type } = message.properties;
      this.#waiters.answer(String(correlationId), String(type ?? ''), message.content);
    };
    await channel.consume(this.#answerQueue, take, { noAck: true });
  }
}

function outcomeUnknown(): BerthError {
  return new BerthError(
    'deadline_exceeded',
    'connection_lost',
    'the connection to the broker was lost while the call waited; the outcome is unknown: ask again with the same id',
  );
}
