import { type ConfirmChannel, IllegalOperationError, type Options } from 'amqplib';
import Denque from 'denque';
import type { Connection } from '../../amqp/connection';
import { ReopeningChannel } from '../../amqp/reopening-channel';
import { type BerthError, invalidArgument } from '../../domain/errors';
import type { RuntimeDeps } from '../../runtime/service';
import { notConfirmed, queueFull, tooManyWaiting } from '../errors';
import type { BusConfig } from '../options';
import { expirationOf } from './message';
import { Refusals } from './refusals';
import { notConnected } from './topology';

/** A message on its way to the broker. */
export interface Publication {
  readonly exchange: string;
  readonly routingKey: string;
  readonly content: Buffer;
  readonly options: Options.Publish;
  /** When its sender stops waiting; an expiring message expires by this time, however long it waited here. */
  readonly deadlineMs: number;
  /** Called once; without an error when the broker has the message. */
  settle(error?: BerthError): void;
  /** False when its sender no longer waits: then it is not sent. */
  isWanted(): boolean;
}

/** `confirmTimeoutMs` is Infinity for no limit. */
export interface PublisherSettings extends Pick<BusConfig, 'publishWindow' | 'maxWaiting' | 'confirmTimeoutMs'> {
  readonly name: string;
  /** The sender's error when the queue does not exist. */
  readonly noQueue: (queue: string) => BerthError;
  /** The sender's error when the connection broke before a confirm. */
  readonly outcomeUnknown: () => BerthError;
  /** Prepares a new channel for uses besides publishing. */
  prepare?(channel: ConfirmChannel): Promise<void>;
  /** Called when the channel is gone. */
  lost?(): void;
}

/** Time for which a process that was refused a right counts as unready, unless it publishes meanwhile: it may have nothing to publish. */
const RIGHTLESS_MS = 30_000;
/** Before a channel is renewed, what is unconfirmed on it has so long to be answered. */
const DRAIN_LIMIT_MS = 1_000;

/**
 * Publishes with confirms, a window of them at a time: waiting for each alone would limit a process to some 2,000
 * messages a second. Further messages queue here, also while amqplib's write buffer is full.
 */
export class Publisher {
  readonly #settings: PublisherSettings;
  readonly #around: RuntimeDeps;
  readonly #reopening: ReopeningChannel<ConfirmChannel>;
  readonly #waiting = new Denque<Sending>();
  readonly #unconfirmed = new Set<Sending>();
  readonly #refusals: Refusals;
  /** The exchange that the broker last did not let this user publish to, until it does. */
  #rightless: { readonly exchange: string; readonly untilMs: number } | undefined;
  #isWritable = true;
  /** A new channel is due: nothing is sent, until all that is unconfirmed on the present one has its answer. */
  #isRenewing = false;
  #onIdle: (() => void)[] = [];

  constructor(connection: Connection, settings: PublisherSettings, around: RuntimeDeps) {
    this.#settings = settings;
    this.#around = around;
    this.#refusals = new Refusals(around.clock);
    this.#reopening = new ReopeningChannel<ConfirmChannel>(
      connection,
      {
        name: settings.name,
        create: (model) => model.createConfirmChannel(),
        prepare: (channel) => this.#prepare(channel),
        refused: (error) => this.#noteRights(error),
        lost: () => this.#settleUnsent(),
      },
      around,
    );
    connection.add(this.#reopening);
  }

  get isReady(): boolean {
    return this.#reopening.channel !== undefined && this.#around.clock.elapsed() >= (this.#rightless?.untilMs ?? 0);
  }

  /** Messages not confirmed, or not sent yet. */
  get openCount(): number {
    return this.#unconfirmed.size + this.#waiting.length;
  }

  send(publication: Publication): void {
    const channel = this.#reopening.channel;
    if (channel === undefined) return publication.settle(notConnected());
    const canSend = this.#waiting.length === 0 && this.#hasRoom();
    if (!canSend) this.#forgetUnwanted();
    if (!canSend && this.#waiting.length >= this.#settings.maxWaiting) return publication.settle(tooManyWaiting());
    const sending = new Sending(publication);
    sending.startTimer(this.#settings.confirmTimeoutMs, this.#around);
    if (canSend) this.#publish(channel, sending);
    else this.#waiting.push(sending);
  }

  /** Resolves when nothing is in flight. */
  idle(): Promise<void> {
    if (this.openCount === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  close(): Promise<void> {
    return this.#reopening.close();
  }

  async #prepare(channel: ConfirmChannel): Promise<void> {
    this.#isWritable = true;
    this.#isRenewing = false;
    this.#refusals.clear();
    channel.on('drain', () => {
      this.#isWritable = true;
      this.#sendWaiting();
    });
    channel.on('return', ({ fields, properties }) => this.#markReturned(fields.routingKey, properties.messageId));
    await this.#settings.prepare?.(channel);
  }

  #hasRoom(): boolean {
    return this.#isWritable && !this.#isRenewing && this.#unconfirmed.size < this.#settings.publishWindow;
  }

  #publish(channel: ConfirmChannel, sending: Sending): void {
    const { exchange, routingKey, content, options } = sending.publication;
    try {
      this.#isWritable = channel.publish(exchange, routingKey, content, options, (error: Error | null) =>
        this.#onConfirm(sending, error),
      );
      this.#unconfirmed.add(sending);
    } catch (error) {
      sending.settle(error instanceof IllegalOperationError ? notConnected() : notEncodable(error as Error));
    }
  }

  #onConfirm(sending: Sending, error: Error | null): void {
    this.#unconfirmed.delete(sending);
    sending.settle(this.#errorOf(sending, error));
    if (error === null && sending.publication.exchange === this.#rightless?.exchange) this.#rightless = undefined;
    this.#noteRefusal(sending.publication.routingKey, error);
    if (this.#isRenewing && this.#unconfirmed.size === 0) this.#renew();
    this.#sendWaiting();
  }

  /**
   * The broker closes the channel for want of a right, and another opens at once: without this a process that can publish nothing
   * would say that it is ready.
   */
  #noteRights(error: Error): void {
    if ((error as { readonly code?: unknown }).code !== 403) return;
    const exchange = /exchange '([^']*)'/.exec(error.message)?.[1] ?? '';
    const untilMs = this.#around.clock.elapsed() + RIGHTLESS_MS;
    this.#rightless = { exchange: exchange === 'amq.default' ? '' : exchange, untilMs };
  }

  #noteRefusal(queue: string, error: Error | null): void {
    if (error === null) return this.#refusals.onConfirmed(queue);
    if (!isNack(error) || this.#isRenewing || !this.#refusals.onRefused(queue)) return;
    this.#isRenewing = true;
    const fields = { event: 'bus_channel_renewed', channel: this.#settings.name, queue };
    this.#around.log.warn(fields, 'the queue refused all messages for seconds: opening a new channel');
    this.#around.clock.after(DRAIN_LIMIT_MS, () => this.#renew());
  }

  #renew(): void {
    const { channel } = this.#reopening;
    if (this.#isRenewing && channel !== undefined) this.#reopening.abandon(channel, 0);
  }

  #errorOf({ publication, isReturned }: Sending, error: Error | null): BerthError | undefined {
    const { noQueue, outcomeUnknown } = this.#settings;
    if (error === null) return isReturned ? noQueue(publication.routingKey) : undefined;
    return isNack(error) ? queueFull(publication.routingKey) : outcomeUnknown();
  }

  #sendWaiting(): void {
    while (this.#waiting.length > 0 && this.#hasRoom()) {
      const channel = this.#reopening.channel;
      const sending = this.#waiting.shift();
      if (channel === undefined || sending === undefined) break;
      if (!sending.isWanted()) continue;
      this.#shorten(sending.publication);
      this.#publish(channel, sending);
    }
    if (this.openCount > 0) return;
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  /** While nothing can be sent, messages without a waiting sender must not count. The oldest time out first. */
  #forgetUnwanted(): void {
    while (this.#waiting.peekFront()?.isWanted() === false) this.#waiting.shift();
  }

  /** The time that a message waited here counts towards its expiration. */
  #shorten({ options, deadlineMs }: Publication): void {
    if (options.expiration === undefined) return;
    options.expiration = expirationOf(deadlineMs - this.#around.clock.elapsed());
  }

  /**
   * A return precedes the confirm of its message and carries no delivery tag. It belongs to the oldest message with the
   * same id and queue without a return yet, because the broker works in order.
   */
  #markReturned(routingKey: string, messageId: unknown): void {
    for (const sending of this.#unconfirmed) {
      const { publication, isReturned } = sending;
      if (isReturned || publication.routingKey !== routingKey || publication.options.messageId !== messageId) continue;
      sending.isReturned = true;
      return;
    }
  }

  /** The channel is gone: amqplib has called back for all unconfirmed messages; the queued ones were never sent. */
  #settleUnsent(): void {
    for (let first = this.#waiting.shift(); first !== undefined; first = this.#waiting.shift())
      first.settle(notConnected());
    this.#settings.lost?.();
    this.#sendWaiting();
  }
}

/** A publication that is queued or unconfirmed. */
class Sending {
  readonly publication: Publication;
  isReturned = false;
  #isSettled = false;
  #cancelTimer: (() => void) | undefined;

  constructor(publication: Publication) {
    this.publication = publication;
  }

  startTimer(timeoutMs: number, { clock }: RuntimeDeps): void {
    if (timeoutMs === Infinity) return;
    this.#cancelTimer = clock.after(timeoutMs, () => this.settle(notConfirmed(this.publication.routingKey)));
  }

  isWanted(): boolean {
    return !this.#isSettled && this.publication.isWanted();
  }

  settle(error?: BerthError): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#cancelTimer?.();
    this.publication.settle(error);
  }
}

/** amqplib 2.3 distinguishes a nack, for a full queue, from a lost channel by the text alone. */
function isNack({ message }: Error): boolean {
  return message === 'message nacked';
}

function notEncodable({ message }: Error): BerthError {
  return invalidArgument('not_encodable', `the message can not be encoded: ${message}`);
}
