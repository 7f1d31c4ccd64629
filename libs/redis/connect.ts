import { setImmediate as endOfTurn } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { BerthError } from '../domain/errors';
import type { Log } from '../runtime/log';
import { writeTogether } from '../runtime/write-together';
import type { LuaScript } from './scripts';
import { storeError } from './store-error';

export interface RedisOptions {
  readonly log: Log;
  /** How long the server may be silent while commands wait; then the connection is taken as dead and made anew. */
  readonly commandTimeoutMs: number;
  /** Shown by the server's `CLIENT LIST`. */
  readonly connectionName: string;
  /** For a connection whose reads block: how long they may. */
  readonly blockMs?: number;
}

const LONGEST_RETRY_MS = 2_000;

/**
 * Connects to a Redis by URL (`redis://user:password@host:port/db`, `rediss://` for TLS), waiting until it is there.
 *
 * The connection comes back by itself, for ever. While it is away, operations fail at once rather than wait, and what was
 * under way when it broke is never sent again: a command must not happen twice unasked.
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
      // Its timer outlives a connection that is gone already.
      disconnectTimeout: 50,
      retryStrategy: (attempt) => Math.min(20 * 2 ** Math.min(attempt, 10), LONGEST_RETRY_MS),
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      // Fails what is under way as soon as the connection breaks; it does not limit how often to connect.
      maxRetriesPerRequest: 0,
      // A failover leaves a read-only server behind: look for the new one.
      reconnectOnError: (error) => error.message.startsWith('READONLY'),
    });
    this.#redis.on('error', (error: Error) => this.#onError(error));
    this.#redis.on('connect', () => writeTogether(this.#redis.stream));
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

  /** Runs a script: by its hash, and with its text when the server does not know it (yet, or any more). */
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

  /** Waits for what is under way, what this turn of the event loop has begun included (`perTurn`), then closes. */
  async close(): Promise<void> {
    await endOfTurn();
    if (this.isConnected()) await this.#redis.quit().catch(() => undefined);
    this.disconnect();
  }

  /** Closes at once: what is under way fails. */
  disconnect(): void {
    if (this.#redis.status === 'end') return;
    this.#redis.disconnect();
    // The client would wait for the server, which answers a blocked read first.
    this.#redis.stream?.destroy();
  }

  #onError(error: Error): void {
    this.#lastError = error;
    if (this.#isReported) return;
    this.#isReported = true;
    this.#options.log.warn({ error: storeError(error) }, 'the store is away; trying again until it is back');
  }

  #onClose(): void {
    this.#options.log.debug({}, 'connection to the store closed');
  }

  #onReady(): void {
    if (this.#isReported) this.#options.log.info({}, 'the store is back');
    this.#isReported = false;
    this.#lastError = undefined;
  }
}

/**
 * One timer for the whole connection costs nothing per command. It outlives a connection that is closed under a read,
 * and would keep the process alive; where that is the way to stop, each command has its own.
 */
function silenceLimits({ commandTimeoutMs, blockMs }: RedisOptions) {
  return blockMs === undefined ? { socketTimeout: commandTimeoutMs } : { commandTimeout: commandTimeoutMs + blockMs };
}
