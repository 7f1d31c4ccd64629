import type { Writable } from 'node:stream';
import { type ChannelModel, connect, type RecoveringChannelModel } from 'amqplib';
import type { Surroundings } from '../../runtime/service';
import { writeTogether } from '../../runtime/write-together';
import { endsWithin } from '../workload';

/** What lives on the connection and comes back with it. `attach` never rejects: what fails is tried again later. */
export interface Part {
  attach(model: ChannelModel): Promise<void>;
}

export interface LinkSettings {
  /** Credentials included; never logged. */
  readonly url: string;
  readonly reconnectDelayMs: number;
  readonly connectionName: string;
}

export interface LinkEvents {
  /** The broker can't be reached, or does not let us in. */
  failed(error: Error): void;
  /** Connected, and every part was given its chance. */
  up(): void;
}

const FIRST_RECONNECT_DELAY_MS = 50;
/** For one attempt, TCP and AMQP handshake together. */
const HANDSHAKE_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 2_000;

/**
 * The connection of one bus, kept up by amqplib's `recovery`.
 *
 * Recovery reconnects with backoff and calls `setup`; what it does not know, this class adds:
 * - an `error` event that comes during `setup`, before recovery listens, would end the process: we listen first;
 * - when `setup` fails, recovery waits for the broker to agree to the close, for ever if the broker is gone: `setup` here
 *   starts the close itself, so that recovery finds it done; closing at the end is bounded for the same reason;
 * - a connection that closes while `setup` runs, unseen by it, would be taken for good: we look before we say so.
 */
export class Link {
  /** Called for each connection but the first. */
  onReconnect: () => void = () => {};
  readonly #settings: LinkSettings;
  readonly #around: Surroundings;
  readonly #events: LinkEvents;
  readonly #parts = new Set<Part>();
  #recovering: RecoveringChannelModel | undefined;
  #model: ChannelModel | undefined;
  #isSetUp = false;
  #wasUp = false;
  #isBlocked = false;
  #isClosing = false;

  constructor(settings: LinkSettings, around: Surroundings, events: LinkEvents) {
    this.#settings = settings;
    this.#around = around;
    this.#events = events;
  }

  /** Connected, and every part was attached. */
  get isUp(): boolean {
    return this.#isSetUp;
  }

  /** Whether this is the connection of now. */
  holds(model: ChannelModel): boolean {
    return this.#model === model;
  }

  /** The broker is short of memory or disk and takes no messages. */
  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /** Begins to connect, and goes on until `close`. */
  async open(): Promise<void> {
    const { url, connectionName } = this.#settings;
    const { log } = this.#around;
    const recovering = await connect(url, {
      noDelay: true,
      timeout: HANDSHAKE_TIMEOUT_MS,
      clientProperties: { connection_name: connectionName },
      recovery: {
        waitForConnect: false,
        calculateDelay: (attempt) => this.#delayMs(attempt),
        setup: (model: ChannelModel) => this.#setUp(model),
      },
    });
    recovering.on('error', (error) => log.debug({ error }, 'the connection to the broker broke'));
    recovering.on('handler-error', (error) => log.error({ error }, 'a listener of the connection threw'));
    recovering.on('connect-failed', (error: Error) => this.#events.failed(error));
    recovering.on('disconnect', (error) => log.warn({ error }, 'lost the broker; reconnects'));
    recovering.on('connect', () => {
      if (this.#wasUp) {
        log.info({}, 'connected to the broker again');
        this.onReconnect();
      }
      this.#wasUp = true;
      this.#events.up();
    });
    this.#recovering = recovering;
  }

  /** From now on the part is attached to each new connection; to the present one, too, if there is one. */
  add(part: Part): void {
    this.#parts.add(part);
    // While it is set up, the setup comes to this part, too.
    if (this.#model !== undefined && this.#isSetUp) void part.attach(this.#model);
  }

  remove(part: Part): void {
    this.#parts.delete(part);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    if (this.#recovering === undefined) return;
    await endsWithin(this.#recovering.close(), CLOSE_TIMEOUT_MS, this.#around.clock);
  }

  async #setUp(model: ChannelModel): Promise<void> {
    this.#model = model;
    writeTogether(socketOf(model));
    model.on('error', (error) => this.#around.log.debug({ error }, 'the connection to the broker broke'));
    model.on('close', () => {
      if (!this.holds(model)) return;
      this.#model = undefined;
      this.#isSetUp = false;
      this.#isBlocked = false;
    });
    model.on('blocked', (reason) => this.#block(true, reason));
    model.on('unblocked', () => this.#block(false, ''));
    // Parts that are added meanwhile are visited, too: that is how a Set iterates.
    for (const part of this.#parts) {
      if (this.holds(model)) await part.attach(model);
    }
    this.#isSetUp = this.holds(model) && !this.#isClosing;
    if (this.#isSetUp) return;
    model.close().catch(() => {});
    throw new Error('the connection closed while it was set up');
  }

  #block(isBlocked: boolean, reason: string): void {
    this.#isBlocked = isBlocked;
    if (isBlocked) this.#around.log.warn({ reason }, 'the broker takes no messages for now');
    else this.#around.log.info({}, 'the broker takes messages again');
  }

  /** Doubles up to the limit; between half and all of it, so that processes do not come back in step. */
  #delayMs(attempt: number): number {
    const delayMs = Math.min(
      this.#settings.reconnectDelayMs,
      FIRST_RECONNECT_DELAY_MS * 2 ** Math.min(attempt - 1, 20),
    );
    return Math.round((delayMs * (1 + this.#around.random.next())) / 2);
  }
}

/** amqplib's types leave it out. */
function socketOf({ connection }: ChannelModel): Writable {
  return (connection as unknown as { readonly stream: Writable }).stream;
}
