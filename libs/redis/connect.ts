import { setImmediate as endOfTurn } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { BerthError } from '../domain/errors';
import type { Random } from '../domain/random';
import { type BackoffLimits, backoffMs } from '../runtime/backoff';
import { corkPerTick } from '../runtime/cork-per-tick';
import type { Log } from '../runtime/log';
import type { LuaScript } from './scripts';
import { storeError } from './store-error';

/** How to reach a Redis, and how long to wait for it. */
export interface RedisOptions {
  readonly log: Log;
  readonly random: Random;
  /** How long the server may be silent while commands wait; then the connection counts as dead and is replaced. */
  readonly commandTimeoutMs: number;
  /** Shown by the server's `CLIENT LIST`. */
  readonly connectionName: string;
  /** For a connection whose reads block: how long they may. */
  readonly blockMs?: number;
}

const RECONNECT: BackoffLimits = { firstMs: 40, maxMs: 2_000 };

/**
 * Connects to a Redis by URL (`redis://user:password@host:port/db`, `rediss://` for TLS), waiting until it is there.
 *
 * The connection recovers by itself, without a limit. While it is away, operations fail at once instead of waiting, and
 * commands that were under way when it broke are never sent again: a command must not happen twice unasked.
 *
 * @throws BerthError `permission_denied` when the server refuses the credentials; `aborted / cancelled` by the signal.
 */
export async function connectRedis(url: string, options: RedisOptions, signal?: AbortSignal): Promise<RedisClient> {
  const client = new RedisClient(url, options);
  try {
    await client.ready(signal);
    return client;
  } catch (thrown) {
    await client.close();
    throw thrown;
  }
}

/** One connection to Redis. */
export class RedisClient {
  readonly #url: string;
  readonly #options: RedisOptions;
  readonly #redis: Redis;
  readonly #defined = new Set<string>();
  #lastError: Error | undefined;
  #isReported = false;

  constructor(url: string, options: RedisOptions) {
    this.#url = url;
    this.#options = options;
    this.#redis = new Redis(url, {
      connectionName: options.connectionName,
      ...silenceLimits(options),
      connectTimeout: options.commandTimeoutMs,
      // Its timer outlives a connection that is closed already.
      disconnectTimeout: 50,
      retryStrategy: (attempt) => backoffMs(attempt, RECONNECT, options.random),
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      // Fails commands under way as soon as the connection breaks; it does not limit reconnecting.
      maxRetriesPerRequest: 0,
      // After a failover the old server is read-only: connect again, to the new one.
      reconnectOnError: (error) => error.message.startsWith('READONLY'),
    });
    this.#redis.on('error', (error: Error) => this.#onError(error));
    this.#redis.on('connect', () => corkPerTick(this.#redis.stream));
    this.#redis.on('close', () => this.#onClose());
    this.#redis.on('ready', () => this.#onReady());
  }

  /** Runs one operation. @throws BerthError as `storeError` says. */
  async run<T>(operation: (redis: Redis) => Promise<T>): Promise<T> {
    try {
      return await operation(this.#redis);
    } catch (thrown) {
      throw storeError(thrown);
    }
  }

  /** Runs a script by its hash, with its text when the server does not know it. @throws BerthError as `run`. */
  runScript(script: LuaScript, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    if (keys.length !== script.keyCount) {
      throw new BerthError(
        'internal',
        'bad_script',
        `${script.name} takes ${script.keyCount} keys, not ${keys.length}`,
      );
    }
    return this.run((redis) => {
      if (!this.#defined.has(script.name)) {
        redis.defineCommand(script.name, { lua: script.source, numberOfKeys: script.keyCount });
        this.#defined.add(script.name);
      }
      const commands = redis as unknown as Record<string, (...args: readonly (string | number)[]) => Promise<unknown>>;
      return (commands[script.name] as NonNullable<(typeof commands)[string]>).call(redis, ...keys, ...args);
    });
  }

  /** Whether commands can be sent now. */
  isConnected(): boolean {
    return this.#redis.status === 'ready';
  }

  /** Resolves once the connection is there. @throws BerthError `permission_denied`, `aborted / cancelled`. */
  ready(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error?: BerthError) => {
        this.#redis.off('ready', onReady).off('close', onClose);
        signal?.removeEventListener('abort', onAbort);
        if (error) reject(error);
        else resolve();
      };
      const onReady = () => settle();
      const onAbort = () => settle(new BerthError('aborted', 'cancelled', 'stopped waiting for the store'));
      const onClose = () => {
        const refusal = this.#lastError && storeError(this.#lastError);
        if (refusal?.code === 'permission_denied') settle(refusal);
      };
      if (this.isConnected()) return resolve();
      if (signal?.aborted) return onAbort();
      this.#redis.on('ready', onReady).on('close', onClose);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Calls back each time the connection is there again, before anything else is sent on it. Returns how to stop. */
  onReady(listener: () => void): () => void {
    this.#redis.on('ready', listener);
    return () => this.#redis.off('ready', listener);
  }

  /** A connection of its own to the same server, for reads that block up to `blockMs`. */
  duplicate(suffix: string, blockMs: number): RedisClient {
    const connectionName = `${this.#options.connectionName}:${suffix}`;
    return new RedisClient(this.#url, { ...this.#options, connectionName, blockMs });
  }

  /** Waits for the commands under way, those of this tick's batches included (`batchPerTick`), then closes. */
  async close(): Promise<void> {
    await endOfTurn();
    if (this.isConnected()) await this.#redis.quit().catch(() => undefined);
    this.disconnect();
  }

  /** Closes at once; commands under way fail. */
  disconnect(): void {
    if (this.#redis.status === 'end') return;
    this.#redis.disconnect();
    // ioredis would wait for the server, which answers a blocked read first.
    this.#redis.stream?.destroy();
  }

  #onError(error: Error): void {
    this.#lastError = error;
    if (this.#isReported) return;
    this.#isReported = true;
    this.#options.log.warn({ event: 'store_unavailable', error: storeError(error) }, 'store unavailable, reconnecting');
  }

  #onClose(): void {
    this.#options.log.debug({ event: 'store_disconnected' }, 'store connection closed');
  }

  #onReady(): void {
    if (this.#isReported) this.#options.log.info({ event: 'store_available' }, 'store available again');
    this.#isReported = false;
    this.#lastError = undefined;
  }
}

/**
 * One timer for the whole connection costs nothing per command. But it outlives a connection that is closed under a
 * blocking read, and would keep the process alive; on such a connection each command has its own.
 */
function silenceLimits({ commandTimeoutMs, blockMs }: RedisOptions) {
  return blockMs === undefined ? { socketTimeout: commandTimeoutMs } : { commandTimeout: commandTimeoutMs + blockMs };
}
