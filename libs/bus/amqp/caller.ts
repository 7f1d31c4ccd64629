import type { ConfirmChannel, ConsumeMessage } from 'amqplib';
import { answersCodec, type PackedAnswer, type PackedMessage } from '../../contracts/pack';
import { BerthError } from '../../domain/errors';
import type { Surroundings } from '../../runtime/service';
import { type BusMetrics, countNotSent } from '../bus-metrics';
import type { BusConfig } from '../options';
import type { CallOptions, OutgoingMessage } from '../port';
import { nobodyServes } from '../refusals';
import { Waiters } from '../waiters';
import type { Link } from './link';
import { errorOf, type Meanings, type Outcome } from './outcome';
import { fitsInPack, Packs, sealed } from './packs';
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
  readonly #packs = new Packs<OutgoingCall>((_, calls) => this.#send(calls));
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
    const expirationMs = Math.min(Math.max(0, Math.ceil(options.timeoutMs)), MAX_EXPIRATION_MS);
    const { type, body, sender = '' } = message;
    const call = {
      queue,
      type,
      body,
      sender,
      correlationId,
      expirationMs,
      messageId: options.id ?? this.#around.random.uuid(),
      deadlineMs: this.#around.clock.now() + options.timeoutMs,
    };
    // Those of a pack expire together, so that none is handed out after its time.
    if (fitsInPack(call)) this.#packs.add(`${expirationMs} ${queue}`, call);
    else this.#send([call]);
    return answer;
  }

  async close(reason: BerthError): Promise<void> {
    this.#waiters.failAll(reason);
    await this.#publisher.close();
  }

  /** Sends the calls of a pack that still want an answer. One alone is a message as anybody would send it. */
  #send(pack: readonly OutgoingCall[]): void {
    const calls = pack.filter(({ correlationId }) => this.#waiters.has(correlationId));
    const [first] = calls;
    if (first === undefined) return;
    const { queue, expirationMs, deadlineMs } = first;
    const { content, options } = sealed(calls, this.#around.random);
    options.replyTo = this.#answerQueue;
    options.expiration = expirationMs;
    options.mandatory = true;
    this.#publisher.send({
      exchange: '',
      routingKey: queue,
      content,
      options,
      deadlineMs,
      settle: (outcome) => {
        if (outcome !== 'confirmed') for (const { correlationId } of calls) this.#fail(correlationId, queue, outcome);
      },
      isWanted: () => calls.some(({ correlationId }) => this.#waiters.has(correlationId)),
    });
  }

  #fail(correlationId: string, queue: string, outcome: Exclude<Outcome, 'confirmed'>): void {
    this.#waiters.fail(correlationId, countNotSent(this.#metrics, errorOf(outcome, queue, MEANINGS)));
  }

  async #listen(channel: ConfirmChannel): Promise<void> {
    this.#answerQueue = await declareAnswerQueue(channel);
    const take = (message: ConsumeMessage | null) => {
      // Null: the broker has cancelled us, and nothing can come here any more.
      if (message === null) return void channel.close().catch(() => {});
      this.#take(message);
    };
    await channel.consume(this.#answerQueue, take, { noAck: true });
  }

  #take({ properties, content }: ConsumeMessage): void {
    if (properties.type !== answersCodec.type)
      return this.#waiters.answer(String(properties.correlationId), String(properties.type ?? ''), content);
    for (const { correlationId, type, body } of this.#answersOf(content))
      this.#waiters.answer(correlationId, type, body);
  }

  /** Nothing of a pack that can't be read: its callers wait until their deadlines, as for any answer that is lost. */
  #answersOf(content: Buffer): readonly PackedAnswer[] {
    try {
      return answersCodec.decode(content);
    } catch (error) {
      this.#around.log.error({ error }, 'a pack of answers could not be read');
      return [];
    }
  }
}

/** A call as it waits for the end of the turn. */
interface OutgoingCall extends PackedMessage {
  readonly queue: string;
  readonly expirationMs: number;
  readonly deadlineMs: number;
}

function outcomeUnknown(): BerthError {
  return new BerthError(
    'deadline_exceeded',
    'connection_lost',
    'the connection to the broker was lost while the call waited; the outcome is unknown: ask again with the same id',
  );
}
