import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib';
import { notConnected } from '../amqp/broker-errors';
import { Connection } from '../amqp/connection';
import { ReopeningChannel } from '../amqp/reopening-channel';
import { BerthError } from '../domain/errors';
import type { Running, RuntimeDeps } from '../runtime/service';
import { dispatch, type RpcApi, type RpcOutcome } from './dispatch';
import { type OsloRequest, type ReplyAddress, readRequest, writeReply } from './envelope';
import { RemoteError, serializeFailure } from './remote-error';
import { ReplyChannel, type Route } from './reply-channel';
import { SeenIds } from './seen-ids';
import { declareTarget, type OsloTarget } from './target';

export interface RpcServerSettings {
  /** `amqp://user:password@host:port/vhost` */
  readonly url: string;
  readonly target: OsloTarget;
  /** Names the connections in RabbitMQ's own lists. */
  readonly processName: string;
  /** Messages that are worked on at once. */
  readonly prefetch: number;
  /** Larger messages are dropped, and logged. */
  readonly maxBodyBytes: number;
  readonly reconnectDelayMs: number;
  /** It consumes, for the first time or again: fanouts may have been missed. */
  readonly onConsuming?: () => void;
}

/** A message that comes again is recognized among so many. */
const SEEN_IDS = 10_000;
/** A caller that gives up after t seconds of silence hears a heartbeat in half of them, but at most so often. */
const MIN_HEARTBEAT_MS = 500;

/**
 * Serves a target of oslo.messaging over RabbitMQ.
 *
 * oslo.messaging's own servers ack a request before they work on it: when one dies, its caller waits for the time-out. Here a request
 * is acked once its answer is with the broker, so that the next server takes what a dead one had in hand; methods must bear being run
 * twice. A request that is given out again is acked first, so that one which ends the process does so twice and not for ever.
 */
export class RpcServer implements Running {
  readonly #publishing: Connection;
  readonly #consuming: Connection;
  readonly #replies: ReplyChannel;
  readonly #requests: ReopeningChannel<Channel>;
  readonly #seen = new SeenIds(SEEN_IDS);
  readonly #inHand = new Set<Promise<void>>();
  #consumerTags: string[] = [];
  #isClosing = false;

  constructor(
    private readonly settings: RpcServerSettings,
    private readonly api: RpcApi,
    private readonly around: RuntimeDeps,
  ) {
    const { url, reconnectDelayMs, processName } = settings;
    const connectionThat = (does: string) =>
      new Connection({ url, reconnectDelayMs, connectionName: `${processName} ${does}` }, around);
    this.#publishing = connectionThat('answers');
    this.#consuming = connectionThat('serves');
    this.#replies = new ReplyChannel(this.#publishing, around);
    const role = {
      name: settings.target.topic,
      create: (model: ChannelModel) => model.createChannel(),
      prepare: (channel: Channel) => this.#consume(channel),
      lost() {},
    };
    this.#requests = new ReopeningChannel(this.#consuming, role, around);
  }

  /** Begins to connect, and goes on until it is closed. */
  async open(): Promise<void> {
    const { log } = this.around;
    this.#consuming.onFailed = (error) =>
      log.warn({ event: 'oslo_unavailable', error: error.message }, 'message broker of the services unavailable');
    this.#consuming.add(this.#requests);
    await Promise.all([this.#publishing.open(), this.#consuming.open()]);
  }

  readiness(): ReturnType<Running['readiness']> {
    const isReady = this.#requests.channel !== undefined && this.#replies.isReady;
    return isReady ? { ready: true } : notConnected(this.#consuming.lastError, this.#publishing.lastError);
  }

  /** Takes no more requests, answers those in hand. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const { channel } = this.#requests;
    await Promise.allSettled(this.#consumerTags.map(async (tag) => channel?.cancel(tag)));
    await Promise.allSettled(this.#inHand);
    await Promise.all([this.#requests.close(), this.#replies.close()]);
    await Promise.all([this.#consuming.close(), this.#publishing.close()]);
  }

  async #consume(channel: Channel): Promise<void> {
    const { target, prefetch, onConsuming } = this.settings;
    const queues = await declareTarget(channel, target, this.around.random.uuid().replaceAll('-', ''));
    await channel.prefetch(prefetch);
    this.#consumerTags = [];
    for (const queue of queues) {
      const onMessage = (message: ConsumeMessage | null) => this.#take(message, channel);
      this.#consumerTags.push((await channel.consume(queue, onMessage)).consumerTag);
    }
    this.around.log.info(
      { event: 'oslo_serving', exchange: target.exchange, queues },
      'serving calls of oslo.messaging',
    );
    onConsuming?.();
  }

  /** A listener of amqplib's: must not throw. */
  #take(message: ConsumeMessage | null, channel: Channel): void {
    // The broker cancelled the consumer, for its queue was deleted.
    if (message === null) return this.#requests.abandon(channel);
    if (this.#isClosing) return;
    const handled = this.#handle(message, channel).catch((error: unknown) =>
      this.around.log.error({ event: 'oslo_handler_failed', error: BerthError.from(error) }, 'a request failed'),
    );
    this.#inHand.add(handled);
    void handled.finally(() => this.#inHand.delete(handled));
  }

  async #handle(message: ConsumeMessage, channel: Channel): Promise<void> {
    const { redelivered } = message.fields;
    const ack = () => {
      // The channel may be gone, and the message given out again.
      if (this.#requests.channel === channel) channel.ack(message);
    };
    if (redelivered) ack();
    try {
      const request = this.#read(message.content);
      if (request !== undefined) await this.#answer(request, message.content);
    } finally {
      if (!redelivered) ack();
    }
  }

  #read(content: Buffer): OsloRequest | undefined {
    const { log } = this.around;
    const { maxBodyBytes } = this.settings;
    if (content.length > maxBodyBytes) {
      log.warn({ event: 'oslo_too_large', bytes: content.length, maxBodyBytes }, 'dropped a message that is too large');
      return undefined;
    }
    try {
      const request = readRequest(content);
      const { uniqueId } = request;
      if (uniqueId === undefined || this.#seen.add(uniqueId)) return request;
      log.info({ event: 'oslo_duplicate', uniqueId, method: request.method }, 'a message came twice');
    } catch (thrown) {
      log.warn({ event: 'oslo_unreadable', error: BerthError.from(thrown).message }, 'dropped an unreadable message');
    }
    return undefined;
  }

  async #answer(request: OsloRequest, content: Buffer): Promise<void> {
    const { replyTo, method } = request;
    const answers = this.settings.target.mode === 'serve' ? replyTo : undefined;
    const stopHeartbeats = this.#sendHeartbeats(answers);
    const ended = await dispatch(request, this.api).catch((thrown: unknown) => thrown as RemoteError);
    stopHeartbeats();
    const { log } = this.around;
    if (ended instanceof RemoteError) {
      log.info({ event: 'oslo_failure', method, error: ended.message }, `${method} failed: ${ended.className}`);
      if (answers) await this.#reply(answers, { failure: serializeFailure(ended) });
    } else if (ended.kind === 'hand_over') await this.#handOver(ended, content, answers);
    else if (answers) await this.#reply(answers, { result: ended.value });
  }

  /** The message goes on as it came: the other server answers the caller by itself. */
  async #handOver({ topic }: Extract<RpcOutcome, { kind: 'hand_over' }>, content: Buffer, answers?: ReplyAddress) {
    const { exchange } = this.settings.target;
    if (await this.#replies.send({ exchange, routingKey: topic }, content, 0)) return;
    const failure = new RemoteError(
      'BerthError',
      'berth',
      `no server takes what is handed over to ${exchange}/${topic}`,
    );
    if (answers) await this.#reply(answers, { failure: serializeFailure(failure) });
  }

  #sendHeartbeats(answers: ReplyAddress | undefined): () => void {
    const timeoutS = answers?.monitorTimeoutS;
    if (answers === undefined || timeoutS === undefined) return () => {};
    const { clock } = this.around;
    const everyMs = Math.max(MIN_HEARTBEAT_MS, timeoutS * 500);
    let cancel: () => void = () => {};
    const beat = () => {
      void this.#replies.send(routeTo(answers), this.#written(answers, {}, false), 0);
      cancel = clock.after(everyMs, beat);
    };
    cancel = clock.after(everyMs, beat);
    return () => cancel();
  }

  #reply(answers: ReplyAddress, said: Said): Promise<void> {
    const { queue, messageId } = answers;
    return this.#replies.answer(routeTo(answers), this.#written(answers, said, true), () => {
      const fields = { event: 'oslo_unanswered', queue, messageId };
      this.around.log.warn(fields, 'the caller is gone, its answer dropped');
    });
  }

  #written({ messageId }: ReplyAddress, { result, failure }: Said, isLast: boolean): Buffer {
    const uniqueId = this.around.random.uuid().replaceAll('-', '');
    return writeReply({ messageId, uniqueId, result, failure, isLast });
  }
}

interface Said {
  readonly result?: unknown;
  readonly failure?: string;
}

/** The default exchange leads to queues by their names. */
function routeTo({ queue }: ReplyAddress): Route {
  return { exchange: '', routingKey: queue };
}
