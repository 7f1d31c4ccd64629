import type { Writable } from 'node:stream';
import { type ChannelModel, connect, type RecoveringChannelModel } from 'amqplib';
import { backoffMs } from '../runtime/backoff';
import { corkPerTick } from '../runtime/cork-per-tick';
import { endsWithin } from '../runtime/ends-within';
import type { RuntimeDeps } from '../runtime/service';
import { surviveUndecodableHeaders } from './undecodable-headers';
import { userOfUrl } from './user-of-url';

/** State that each new connection is given. `attach` never rejects: a failure is tried again later. */
export interface Attachment {
  attach(model: ChannelModel): Promise<void>;
}

export interface ConnectionSettings {
  /** Credentials included; never logged. */
  readonly url: string;
  readonly reconnectDelayMs: number;
  readonly connectionName: string;
}

/**
 * The two connections of a bus. A broker that is short of memory stops reading from a connection that publishes, and with
 * it any acks that come behind: so what consumes, and acks, has one of its own and empties the queues meanwhile.
 */
export interface Connections {
  readonly publishing: Connection;
  readonly consuming: Connection;
}

const FIRST_RECONNECT_DELAY_MS = 50;
/** For one attempt, TCP and AMQP handshake together. */
const HANDSHAKE_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 2_000;

/**
 * A connection of a bus, kept up by amqplib's `recovery`.
 *
 * Recovery reconnects with backoff and calls `setup`; what it does not know, this class adds:
 * - an `error` event that comes during `setup`, before recovery listens, would end the process: we listen first;
 * - when `setup` fails, recovery waits for the broker to agree to the close, for ever if the broker is gone: `setup` here
 *   starts the close itself, so that recovery finds it done; closing at the end is bounded for the same reason;
 * - a connection that closes while `setup` runs, unseen by it, would be taken for good: we look before we say so;
 * - one that is opened after recovery was closed has no listeners at all, and an error on it would end the process: closing
 *   waits until the attempt under way has ended.
 */
export class Connection {
  /** The failure of the last attempt, until one succeeds. */
  lastError: Error | undefined;
  /** Called when the broker can't be reached, or does not let us in. */
  onFailed: (error: Error) => void = () => {};
  /** Called for each connection, once every attachment was attached or has failed. */
  onUp: () => void = () => {};
  /** Called besides for each connection but the first. */
  onReconnect: () => void = () => {};
  readonly #settings: ConnectionSettings;
  readonly #around: RuntimeDeps;
  readonly #attachments = new Set<Attachment>();
  #recovering: RecoveringChannelModel | undefined;
  #model: ChannelModel | undefined;
  #isSetUp = false;
  #wasUp = false;
  #isBlocked = false;
  #isClosing = false;
  #isConnecting = false;
  #onAttemptEnded: () => void = () => {};

  constructor(settings: ConnectionSettings, around: RuntimeDeps) {
    this.#settings = settings;
    this.#around = around;
  }

  /** The broker's user. */
  get user(): string {
    return userOfUrl(this.#settings.url);
  }

  /** Connected, and every attachment was attached or has failed. */
  get isUp(): boolean {
    return this.#isSetUp;
  }

  /** True if this is the present connection. */
  holds(model: ChannelModel): boolean {
    return this.#model === model;
  }

  /** The broker is short of memory or disk and takes no messages. */
  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /** Begins to connect, and goes on until `close`. */
  async open(): Promise<void> {
    const { url, connectionName, reconnectDelayMs: maxMs } = this.#settings;
    const { log, random } = this.#around;
    const recovering = await connect(url, {
      noDelay: true,
      timeout: HANDSHAKE_TIMEOUT_MS,
      clientProperties: { connection_name: connectionName },
      recovery: {
        waitForConnect: false,
        calculateDelay: (attempt) => backoffMs(attempt, { firstMs: FIRST_RECONNECT_DELAY_MS, maxMs }, random),
        setup: (model: ChannelModel) => this.#setUp(model),
      },
    });
    recovering.on('error', (error) =>
      log.debug({ event: 'bus_connection_error', error }, 'error on the connection to the broker'),
    );
    recovering.on('handler-error', (error) =>
      log.error({ event: 'bus_listener_threw', error }, 'a listener of the connection threw'),
    );
    this.#isConnecting = true;
    recovering.on('connect-failed', (error: Error) => {
      this.#endAttempt();
      this.lastError = error;
      this.onFailed(error);
    });
    // Comes before recovery sets its own timer, and so does what is set for the same time.
    recovering.on('reconnect-scheduled', ({ delay }) =>
      this.#around.clock.after(delay, () => {
        this.#isConnecting = true;
      }),
    );
    recovering.on('disconnect', (error) =>
      log.warn({ event: 'bus_disconnected', error }, 'disconnected from the broker, reconnecting'),
    );
    recovering.on('connect', () => {
      this.#endAttempt();
      this.lastError = undefined;
      if (this.#wasUp) {
        log.info({ event: 'bus_reconnected' }, 'reconnected to the broker');
        this.onReconnect();
      }
      this.#wasUp = true;
      this.onUp();
    });
    this.#recovering = recovering;
  }

  /** Attaches to the present connection, if there is one, and to each new one. */
  add(attachment: Attachment): void {
    this.#attachments.add(attachment);
    // While the connection is set up, the setup visits this one, too.
    if (this.#model !== undefined && this.#isSetUp) void attachment.attach(this.#model);
  }

  remove(attachment: Attachment): void {
    this.#attachments.delete(attachment);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    if (this.#recovering === undefined) return;
    if (this.#isConnecting) {
      const ended = new Promise<void>((resolve) => {
        this.#onAttemptEnded = resolve;
      });
      await endsWithin(ended, CLOSE_TIMEOUT_MS, this.#around.clock);
    }
    await endsWithin(this.#recovering.close(), CLOSE_TIMEOUT_MS, this.#around.clock);
  }

  #endAttempt(): void {
    this.#isConnecting = false;
    this.#onAttemptEnded();
  }

  async #setUp(model: ChannelModel): Promise<void> {
    this.#model = model;
    corkPerTick(socketOf(model));
    surviveUndecodableHeaders(model);
    model.on('error', (error) =>
      this.#around.log.debug({ event: 'bus_connection_error', error }, 'error on the connection to the broker'),
    );
    model.on('close', () => {
      if (!this.holds(model)) return;
      this.#model = undefined;
      this.#isSetUp = false;
      this.#isBlocked = false;
    });
    model.on('blocked', (reason) => this.#block(true, reason));
    model.on('unblocked', () => this.#block(false, ''));
    // Those that are added meanwhile are visited, too: that is how a Set iterates.
    for (const attachment of this.#attachments) {
      if (this.holds(model)) await attachment.attach(model);
    }
    this.#isSetUp = this.holds(model) && !this.#isClosing;
    if (this.#isSetUp) return;
    model.close().catch(() => {});
    throw new Error('the connection closed while it was set up');
  }

  #block(isBlocked: boolean, reason: string): void {
    this.#isBlocked = isBlocked;
    if (isBlocked) this.#around.log.warn({ event: 'bus_blocked', reason }, 'the broker blocks publishers');
    else this.#around.log.info({ event: 'bus_unblocked' }, 'the broker accepts messages again');
  }
}

/** amqplib's types leave it out. */
function socketOf({ connection }: ChannelModel): Writable {
  return (connection as unknown as { readonly stream: Writable }).stream;
}
