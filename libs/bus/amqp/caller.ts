import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib';
import type { Connections } from '../../amqp/connection';
import { ReopeningChannel } from '../../amqp/reopening-channel';
import { nameOf } from '../../contracts/identity';
import { isBatching, type QueueAddress, queueName } from '../../contracts/queues';
import { BerthError } from '../../domain/errors';
import { type SenderLog, senderLog } from '../../runtime/sender-log';
import type { RuntimeDeps } from '../../runtime/service';
import { nobodyServes } from '../errors';
import { type BusMetrics, countNotSent } from '../handling/bus-metrics';
import { PendingCalls } from '../handling/pending-calls';
import { traceHeaders } from '../handling/trace-messages';
import type { BusConfig } from '../options';
import type { CallOptions, OutgoingMessage } from '../port';
import { BatchingPublisher } from './batching/batching-publisher';
import { unframed } from './batching/frame';
import type { Sending } from './caster';
import { bufferOf, expirationOf, outgoingProperties } from './message';
import { originOf, privateQueuePrefix } from './origin';
import { routeTo } from './route';
import { declareAnswerQueue, notConnected } from './topology';

/**
 * Calls and their answers. Answers arrive in one queue that is exclusive to the consuming connection and lives as long.
 * Requests are confirmed, so that a missing or full queue fails at once instead of timing out.
 */
export class Caller {
  readonly #around: RuntimeDeps;
  readonly #refusals: SenderLog;
  readonly #metrics: BusMetrics;
  readonly #pending: PendingCalls;
  readonly #user: string;
  readonly #listening: ReopeningChannel<Channel>;
  readonly publisher: BatchingPublisher;
  #answerQueue = '';

  constructor({ publishing, consuming }: Connections, config: BusConfig, around: RuntimeDeps, sending: Sending) {
    const { metrics, lost: onLost } = sending;
    this.#metrics = metrics;
    this.#around = around;
    this.#refusals = senderLog(around.log, around.clock);
    this.#user = publishing.user;
    this.#pending = new PendingCalls(around.clock);
    const lost = () => {
      this.#pending.failAll(outcomeUnknown());
      onLost();
    };
    const create = (model: ChannelModel) => model.createChannel();
    const prepare = (channel: Channel) => this.#listen(channel);
    this.#listening = new ReopeningChannel<Channel>(consuming, { name: 'answers', create, prepare, lost }, around);
    consuming.add(this.#listening);
    this.publisher = new BatchingPublisher(
      publishing,
      {
        ...config,
        name: 'calls',
        noQueue: nobodyServes,
        outcomeUnknown,
        // A call has its own deadline.
        confirmTimeoutMs: Infinity,
        lost,
      },
      around,
    );
  }

  get isReady(): boolean {
    return this.publisher.isReady && this.#listening.channel !== undefined;
  }

  get waitingCount(): number {
    return this.#pending.size;
  }

  call(queue: QueueAddress, message: OutgoingMessage, options: CallOptions): Promise<Uint8Array> {
    const name = queueName(queue);
    const { exchange, routingKey } = routeTo(queue, this.#user);
    if (this.#listening.channel === undefined) return Promise.reject(notConnected());
    const { type, body, sender } = message;
    const { timeoutMs, id = this.#around.random.uuid() } = options;
    // Unguessable, so that only the receiver of the call can answer.
    const correlationId = this.#around.random.uuid();
    const answer = this.#pending.wait(correlationId, name, options);
    const properties = outgoingProperties(type, id, sender, correlationId);
    properties.replyTo = this.#answerQueue;
    properties.expiration = expirationOf(timeoutMs);
    properties.mandatory = true;
    properties.userId = this.#user;
    const headers = traceHeaders();
    if (headers !== undefined) properties.headers = headers;
    const publication = {
      exchange,
      routingKey,
      content: bufferOf(body),
      options: properties,
      deadlineMs: this.#around.clock.elapsed() + timeoutMs,
      settle: (error?: BerthError) => {
        if (error !== undefined) this.#pending.fail(correlationId, countNotSent(this.#metrics, error));
      },
      isWanted: () => this.#pending.has(correlationId),
    };
    this.publisher.send(publication, isBatching(queue));
    return answer;
  }

  async close(reason: BerthError): Promise<void> {
    this.#pending.failAll(reason);
    await Promise.all([this.publisher.close(), this.#listening.close()]);
  }

  async #listen(channel: Channel): Promise<void> {
    this.#answerQueue = await declareAnswerQueue(channel, privateQueuePrefix(this.#user) + this.#around.random.uuid());
    const take = (message: ConsumeMessage | null) => {
      // Null: the broker cancelled the consumer, and no answer can arrive any more.
      if (message === null) return void channel.close().catch(() => {});
      this.#take(message);
    };
    await channel.consume(this.#answerQueue, take, { noAck: true });
  }

  /** Takes answers of services only. An unreadable answer counts as lost: its callers wait until their deadlines. */
  #take(message: ConsumeMessage): void {
    const origin = originOf(message);
    if (origin.kind !== 'service') {
      this.#refusals.warn(nameOf(origin), { event: 'bus_answer_refused' }, 'answer refused: no service sent it');
      return;
    }
    try {
      for (const { correlationId, type, body } of unframed(message)) this.#pending.answer(correlationId, type, body);
    } catch (error) {
      this.#refusals.error(nameOf(origin), { event: 'bus_answer_malformed', error }, 'answers could not be decoded');
    }
  }
}

function outcomeUnknown(): BerthError {
  return new BerthError(
    'deadline_exceeded',
    'connection_lost',
    'the connection to the broker was lost while the call waited; the outcome is unknown: ask again with the same id',
  );
}
