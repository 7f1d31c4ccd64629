import { setTimeout as delay, setImmediate as endOfTurn } from 'node:timers/promises';
import type { Cluster, Redis } from 'ioredis';
import { BerthError, invalidArgument } from '../domain/errors';
import { type BackoffLimits, backoffMs } from '../runtime/backoff';
import type { Log } from '../runtime/log';
import { parseStoreUrl, type StoreAddress } from './address';
import type { Commands } from './commands';
import { type ClientSettings, openClient } from './open-client';
import type { LuaScript } from './scripts';
import { storeError } from './store-error';
import { waitForReplicas } from './wait-for-replicas';

export interface RedisClientOptions extends ClientSettings {
  readonly log: Log;
  /** Limit of the server's silence while commands wait; then the connection counts as dead and is replaced. */
  readonly commandTimeoutMs: number;
  /** Shown by the server's `CLIENT LIST`. */
  readonly connectionName: string;
  /** Time limit of blocking reads, on a connection for them. */
  readonly blockMs?: number;
  /** True to fail at once when nothing listens at the address, instead of waiting for it. */
  readonly isHasty?: boolean;
  /** Number of replicas that must have a script's writes before it counts as done; default none. */
  readonly replicas?: number;
}

/**
 * Limit of the argument bytes of one script run. Redis does nothing else while it reads and processes them, and closes
 * the connection above its own limit (`proto-max-bulk-len`), which would look like an outage.
 */
const MAX_SCRIPT_BYTES = 33_554_432;

/**
 * Connects to a Redis by URL (`parseStoreUrl`), and waits until it is up.
 *
 * The connection reconnects by itself, without a limit. While it is away, operations fail at once instead of waiting,
 * and commands in flight when it broke are never resent: a command must not run twice unasked.
 *
 * @throws BerthError `permission_denied` when the server refuses the credentials; `aborted / cancelled` by the signal;
 *   `invalid_argument / bad_store_url`; `unavailable` with `isHasty` when nothing listens there.
 */
export async function connectRedis(
  url: string,
  options: RedisClientOptions,
  signal?: AbortSignal,
): Promise<RedisClient> {
  const client = new RedisClient(parseStoreUrl(url), options);
  try {
    await client.ready(signal);
    return client;
  } catch (thrown) {
    await client.close();
    throw thrown;
  }
}

/** One connection to Redis, or one to each node of a Cluster. */
export class RedisClient {
  readonly #address: StoreAddress;
  readonly #options: RedisClientOptions;
  readonly #redis: Redis | Cluster;
  readonly #defined = new Set<string>();
  /** The waits for replicas of one tick share one WAIT. */
  readonly #waitForReplicas: (key: string) => Promise<void>;
  #lastError: Error | undefined;
  #isReported = false;

  constructor(address: StoreAddress, options: RedisClientOptions) {
    this.#address = address;
    this.#options = options;
    this.#redis = openClient(address, options);
    const { replicas = 0, commandTimeoutMs } = options;
    const timeoutMs = Math.floor(commandTimeoutMs / 2);
    this.#waitForReplicas =
      replicas === 0 ? async () => {} : waitForReplicas((commands) => this.run(commands), replicas, timeoutMs);
    this.#redis.on('error', (error: Error) => this.#onError(error));
    // A Cluster node's error; the node may have left.
    this.#redis.on('node error', (error: Error) => {
      this.#lastError = error;
    });
    this.#redis.on('close', () => this.#onClose());
    this.#redis.on('ready', () => this.#onReady());
  }

  /** Waits before the try after `failures` in a row, so that clients that met don't meet again (`backoffMs`). */
  pause(failures: number, limits: BackoffLimits): Promise<void> {
    return delay(backoffMs(failures, limits, this.#options.random));
  }

  /** Runs one operation. @throws BerthError of `storeError`. */
  async run<T>(operation: (redis: Commands) => Promise<T>): Promise<T> {
    // A Cluster client would queue it until the Cluster is up.
    if (!this.isConnected()) throw new BerthError('unavailable', 'store_away', "the store can't be reached");
    try {
      return await operation(this.#redis);
    } catch (thrown) {
      throw storeError(thrown);
    }
  }

  /**
   * Runs a script by its hash, and sends its source when the server does not know it. A writing script is done once the
   * configured number of replicas has its writes.
   *
   * @throws BerthError like `run`; `invalid_argument / too_large_for_store`; `unavailable / not_replicated` when it ran
   *   here and a failover may lose it.
   */
  async runScript(
    script: LuaScript,
    keys: readonly string[],
    args: readonly (string | number | Buffer)[],
  ): Promise<unknown> {
    if (keys.length !== script.keyCount) {
      throw new BerthError(
        'internal',
        'bad_script',
        `${script.name} takes ${script.keyCount} keys, not ${keys.length}`,
      );
    }
    checkScriptBytes(script.name, args);
    if (script.isReadOnly) return this.run((redis) => readByScript(redis, script, [...keys, ...args.map(String)]));
    const reply = await this.run((redis) => {
      if (!this.#defined.has(script.name)) {
        redis.defineCommand(script.name, { lua: script.source, numberOfKeys: script.keyCount });
        this.#defined.add(script.name);
      }
      const commands = redis as unknown as Record<
        string,
        (...args: readonly (string | number | Buffer)[]) => Promise<unknown>
      >;
      return (commands[script.name] as NonNullable<(typeof commands)[string]>).call(redis, ...keys, ...args);
    });
    await this.#waitForReplicas(keys[0] as string);
    return reply;
  }

  /** True while commands can be sent. */
  isConnected(): boolean {
    return this.#redis.status === 'ready';
  }

  /**
   * Resolves once connected. @throws BerthError `permission_denied`, `aborted / cancelled`, or with `isHasty`
   * `unavailable`.
   */
  ready(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error?: BerthError) => {
        this.#redis.off('ready', onReady).off('close', onFailure).off('error', onFailure);
        signal?.removeEventListener('abort', onAbort);
        if (error) reject(error);
        else resolve();
      };
      const onReady = () => settle();
      const onAbort = () => settle(stoppedWaiting(this.#lastError));
      const onFailure = () => {
        const refusal = this.#lastError && storeError(this.#lastError);
        if (refusal && (this.#options.isHasty || refusal.code === 'permission_denied')) settle(refusal);
      };
      if (this.isConnected()) return resolve();
      if (signal?.aborted) return onAbort();
      this.#redis.on('ready', onReady).on('close', onFailure).on('error', onFailure);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Calls the listener on each reconnect, before anything else is sent. Returns its removal. */
  onReady(listener: () => void): () => void {
    this.#redis.on('ready', listener);
    return () => this.#redis.off('ready', listener);
  }

  /** A second connection to the same server, for reads that block up to `blockMs`. */
  duplicate(suffix: string, blockMs: number): RedisClient {
    const connectionName = `${this.#options.connectionName}:${suffix}`;
    return new RedisClient(this.#address, { ...this.#options, connectionName, blockMs });
  }

  /** Waits for the commands in flight, including those of this tick's batches (`batchPerTick`), then closes. */
  async close(): Promise<void> {
    await endOfTurn();
    if (this.isConnected()) await this.#redis.quit().catch(() => undefined);
    this.disconnect();
  }

  /** Closes at once; commands in flight fail. */
  disconnect(): void {
    if (this.#redis.status === 'end') return;
    const connections = 'nodes' in this.#redis ? this.#redis.nodes() : [this.#redis];
    this.#redis.disconnect();
    // ioredis would wait for the server, which answers a blocked read first.
    for (const { stream } of connections) stream?.destroy();
  }

  #onError(error: Error): void {
    this.#lastError = error;
    if (this.#isReported) return;
    this.#isReported = true;
    const facts = { event: 'store_unavailable', setting: 'BERTH_STORE_URL', error: storeError(error) };
    this.#options.log.warn(facts, 'store unavailable, reconnecting');
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

function checkScriptBytes(name: string, args: readonly (string | number | Buffer)[]): void {
  let bytes = 0;
  for (const arg of args) if (typeof arg !== 'number') bytes += arg.length;
  if (bytes <= MAX_SCRIPT_BYTES) return;
  const message = `${bytes} bytes for the store at once (${name}) are above the limit of ${MAX_SCRIPT_BYTES}: ask for less`;
  throw invalidArgument('too_large_for_store', message);
}

/** Uses the commands that a read-only user is allowed; ioredis' own scripts use only the others. */
async function readByScript(
  redis: Commands,
  { source, keyCount, sha }: LuaScript,
  words: readonly (string | number)[],
): Promise<unknown> {
  try {
    return await redis.evalsha_ro(sha, keyCount, ...words);
  } catch (thrown) {
    if (!(thrown as Error).message.startsWith('NOSCRIPT')) throw thrown;
    return redis.eval_ro(source, keyCount, ...words);
  }
}

function stoppedWaiting(lastError: Error | undefined): BerthError {
  const why = lastError === undefined ? '' : `: ${lastError.message}`;
  return new BerthError('aborted', 'cancelled', `stopped waiting for the store${why}`);
}
