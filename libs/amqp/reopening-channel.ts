import type { Channel, ChannelModel } from 'amqplib';
import { BerthError } from '../domain/errors';
import { endsWithin } from '../runtime/ends-within';
import type { RuntimeDeps } from '../runtime/service';
import { ANSWER_TIMEOUT_MS, connectionLost, noAnswer } from './broker-errors';
import type { Attachment, Connection } from './connection';

/** Purpose of a reopening channel. */
export interface ChannelRole<C extends Channel> {
  readonly name: string;
  create(model: ChannelModel): Promise<C>;
  /** Makes a new channel ready: declares, consumes. When it fails, the channel is thrown away. */
  prepare(channel: C): Promise<void>;
  /** The broker closed the channel, with the given error. */
  refused?(error: Error): void;
  /** The channel is gone, with whatever was under way on it. */
  lost(): void;
}

const REOPEN_DELAY_MS = 500;

/** A channel that is opened again: with each new connection, and when the broker closes it alone. */
export class ReopeningChannel<C extends Channel> implements Attachment {
  readonly #connection: Connection;
  readonly #role: ChannelRole<C>;
  readonly #around: RuntimeDeps;
  #model: ChannelModel | undefined;
  #channel: C | undefined;
  #isClosed = false;
  #cancelReopen: (() => void) | undefined;

  constructor(connection: Connection, role: ChannelRole<C>, around: RuntimeDeps) {
    this.#connection = connection;
    this.#role = role;
    this.#around = around;
  }

  /** The channel, while it is ready. */
  get channel(): C | undefined {
    return this.#channel;
  }

  async attach(model: ChannelModel): Promise<void> {
    if (this.#isClosed || this.#channel !== undefined) return;
    this.#cancelReopen?.();
    this.#model = model;
    try {
      await this.#open(model);
    } catch (error) {
      const fields = { event: 'bus_channel_failed', channel: this.#role.name, error: BerthError.from(error) };
      this.#around.log.warn(fields, 'channel not opened, retrying');
      this.#reopenLater(model);
    }
  }

  /** Closes the channel once the broker has seen all that was sent on it, and keeps it closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#connection.remove(this);
    this.#cancelReopen?.();
    await closeQuietly(this.#channel);
  }

  /** Takes a channel as lost, though the broker may not know it: it does not answer on it. Another one is opened, after `delayMs`. */
  abandon(channel: C, delayMs = REOPEN_DELAY_MS): void {
    if (this.#channel !== channel) return;
    this.#channel = undefined;
    channel.close().catch(() => {});
    this.#role.lost();
    if (this.#model !== undefined) this.#reopenLater(this.#model, delayMs);
  }

  async #open(model: ChannelModel): Promise<void> {
    const created = this.#role.create(model);
    if (!(await this.#isAnswered(created))) {
      void created.then(closeQuietly, () => {});
      throw noAnswer(this.#role.name);
    }
    const channel = await created;
    const { log } = this.#around;
    const name = this.#role.name;
    let isOpen = true;
    // Without listeners of these two, what goes wrong on a channel would end the process.
    channel.on('error', (error) => {
      log.warn({ event: 'bus_channel_closed', channel: name, error }, 'channel closed by the broker');
      this.#role.refused?.(error);
    });
    channel.on('handler-error', (error) =>
      log.error({ event: 'bus_listener_threw', channel: name, error }, 'a listener of a channel threw'),
    );
    channel.on('close', () => {
      isOpen = false;
      this.abandon(channel);
    });
    const prepared = this.#role.prepare(channel);
    if (!(await this.#isAnswered(prepared))) {
      // Not awaited: a broker that does not answer on a channel does not agree to close it.
      void closeQuietly(channel);
      throw noAnswer(this.#role.name);
    }
    try {
      await prepared;
    } catch (error) {
      await closeQuietly(channel);
      throw error;
    }
    if (this.#isClosed) return await closeQuietly(channel);
    if (!isOpen) throw connectionLost();
    this.#channel = channel;
  }

  /** A broker that loses a node of its cluster may keep a question open, and must not keep the other channels waiting. */
  #isAnswered(work: Promise<unknown>): Promise<boolean> {
    return endsWithin(work, ANSWER_TIMEOUT_MS, this.#around.clock);
  }

  /** Unless the connection went with it: then it comes back with the next one. */
  #reopenLater(model: ChannelModel, delayMs = REOPEN_DELAY_MS): void {
    this.#cancelReopen?.();
    this.#cancelReopen = this.#around.clock.after(delayMs, () => {
      if (this.#connection.holds(model)) void this.attach(model);
    });
  }
}

/** Closes a channel that may be closed already. Does not wait for an answer that will never come: `close` is for both. */
export function closeQuietly(channel: Channel | undefined): Promise<void> {
  if (channel === undefined) return Promise.resolve();
  return new Promise((resolve) => {
    channel.once('close', resolve);
    channel.close().then(resolve, () => resolve());
  });
}
