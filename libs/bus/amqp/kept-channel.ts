import type { Channel, ChannelModel } from 'amqplib';
import { BerthError } from '../../domain/errors';
import type { Surroundings } from '../../runtime/service';
import type { Link, Part } from './link';
import { connectionLost } from './topology';

/** What a kept channel is for. */
export interface ChannelRole<C extends Channel> {
  readonly name: string;
  create(model: ChannelModel): Promise<C>;
  /** Makes a new channel ready: declares, consumes. When it fails, the channel is thrown away. */
  prepare(channel: C): Promise<void>;
  /** The channel is gone, with whatever was under way on it. */
  lost(): void;
}

const REOPEN_DELAY_MS = 500;

/** A channel that comes back: with each new connection, and when the broker closes it alone. */
export class KeptChannel<C extends Channel> implements Part {
  readonly #link: Link;
  readonly #role: ChannelRole<C>;
  readonly #around: Surroundings;
  #model: ChannelModel | undefined;
  #channel: C | undefined;
  #isClosed = false;
  #cancelReopen: (() => void) | undefined;

  constructor(link: Link, role: ChannelRole<C>, around: Surroundings) {
    this.#link = link;
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
      this.#around.log.warn({ channel: this.#role.name, error: BerthError.from(error) }, 'could not open a channel');
      this.#reopenLater(model);
    }
  }

  /** Closes the channel once the broker has seen all that was sent on it, and keeps it closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#link.remove(this);
    this.#cancelReopen?.();
    await closeQuietly(this.#channel);
  }

  /** Takes a channel as lost, though the broker may not know it: it does not answer on it. Another one is opened. */
  abandon(channel: C): void {
    if (this.#channel !== channel) return;
    this.#channel = undefined;
    channel.close().catch(() => {});
    this.#role.lost();
    if (this.#model !== undefined) this.#reopenLater(this.#model);
  }

  async #open(model: ChannelModel): Promise<void> {
    const channel = await this.#role.create(model);
    const { log } = this.#around;
    const name = this.#role.name;
    let isOpen = true;
    // Without listeners of these two, what goes wrong on a channel would end the process.
    channel.on('error', (error) => log.warn({ channel: name, error }, 'the broker closed a channel'));
    channel.on('handler-error', (error) => log.error({ channel: name, error }, 'a listener of a channel threw'));
    channel.on('close', () => {
      isOpen = false;
      this.abandon(channel);
    });
    try {
      await this.#role.prepare(channel);
    } catch (error) {
      await closeQuietly(channel);
      throw error;
    }
    if (this.#isClosed) return await closeQuietly(channel);
    if (!isOpen) throw connectionLost();
    this.#channel = channel;
  }

  /** Unless the connection went with it: then it comes back with the next one. */
  #reopenLater(model: ChannelModel): void {
    this.#cancelReopen?.();
    this.#cancelReopen = this.#around.clock.after(REOPEN_DELAY_MS, () => {
      if (this.#link.holds(model)) void this.attach(model);
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
