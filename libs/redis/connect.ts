import { setImmediate as endOfTurn } from 'node:timers/promises';
import type { Cluster, Redis, RedisCommander } from 'ioredis';
import { BerthError, invalidArgument } from '../domain/errors';
import type { Log } from '../runtime/log';
import { parseStoreUrl, type StoreAddress } from './address';
import { type ClientSettings, openClient } from './open-client';
import type { LuaScript } from './scripts';
import { storeError } from './store-error';
import { waitForReplicas } from './wait-for-replicas';

/** How to reach a Redis, and how long to wait for it. */
export interface RedisClientOptions extends ClientSettings {
  readonly log: Log;
  /** How long the server may be silent while commands wait; then the connection counts as dead and is replaced. */
  readonly commandTimeoutMs: number;
  /** Shown by the server's `CLIENT LIST`. */
  readonly connectionName: string;
  /** For a connection whose reads block: how long they may. */
  readonly blockMs?: number;
  /** Who waits for the connection is told when there is nobody at the address, instead of waiting on. */
  readonly isHasty?: boolean;
  /** How many replicas must have what a script wrote before it counts as done; none by default. */
  readonly replicas?: number;
}

/**
 * Bytes of the arguments of one run of a script. While Redis reads them and the script works on them it does nothing else, and
 * above its own limit (`proto-max-bulk-len`) it hangs up, which would look as if it were away.
 */
const MAX_SCRIPT_BYTES = 33_554_432;

/** The commands of Redis: what one server, a failover group and a Cluster have in common. */
export type Commands = Pick<Redis, keyof RedisCommander | 'pipeline' | 'defineCommand'>;

/**
 * Connects to a Redis by URL (`parseStoreUrl`), waiting until it is there.
 *
 * The connection recovers by itself, without a limit. While it is away, operations fail at once instead of waiting, and
 * commands that were under way when it broke are never sent again: a command must not happen twice unasked.
 *
 * @throws BerthError `permission_denied` when the server refuses the credentials; `aborted / cancelled` by the signal;
 *   `invalid_argument / bad_store_url`; `unavailable` when it is hasty and nobody is there.
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
  /** Those who wait for replicas after the replies of one tick share one WAIT. */
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
    // Of a Cluster's node: it may be one that left.
    this.#redis.on('node error', (error: Error) => {
      this.#lastError = error;
    });
    this.#redis.on('close', () => this.#onClose());
    this.#redis.on('ready', () => this.#onReady());
  }

  /** Runs one operation. @throws BerthError as `storeError` says. */
  async run<T>(operation: (redis: Commands) => Promise<T>): Promise<T> {
    // A Cluster's client would keep it until the Cluster is there.
    if (!this.isConnected()) throw new BerthError('unavailable', 'store_away', "the store can't be reached");
    try {
      return await operation(this.#redis);
    } catch (thrown) {
      throw storeError(thrown);
    }
  }

  /**
   * Runs a script by its hash, with its text when the server does not know it. One that writes is done when as many
   * replicas have it as are asked for.
   *
   * @throws BerthError as `run`; `invalid_argument / too_large_for_store`; `unavailable / not_replicated` when it was done here and may be lost in a failover.
   */
  async runScript(script: LuaScript, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    if (keys.length !== script.keyCount) {
      throw new BerthError(
        'internal',
        'bad_script',
        `${script.name} takes ${script.keyCount} keys, not ${keys.length}`,
      );
    }
    checkScriptBytes(script.name, args);
    if (script.isReadOnly) return this.run((redis) => readByScript(redis, script, [...keys, ...args]));
    const reply = await this.run((redis) => {
      if (!this.#defined.has(script.name)) {
        redis.defineCommand(script.name, { lua: script.source, numberOfKeys: script.keyCount });
        this.#defined.add(script.name);
      }
      const commands = redis as unknown as Record<string, (...args: readonly (string | number)[]) => Promise<unknown>>;
      return (commands[script.name] as NonNullable<(typeof commands)[string]>).call(redis, ...keys, ...args);
    });
    await this.#waitForReplicas(keys[0] as string);
    return reply;
  }

  /** Whether commands can be sent now. */
  isConnected(): boolean {
    return this.#redis.status === 'ready';
  }

  /** Resolves once the connection is there. @throws BerthError `permission_denied`, `aborted / cancelled`, or hasty `unavailable`. */
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

  /** Calls back each time the connection is there again, before anything else is sent on it. Returns how to stop. */
  onReady(listener: () => void): () => void {
    this.#redis.on('ready', listener);
    return () => this.#redis.off('ready', listener);
  }

  /** A connection of its own to the same server, for reads that block up to `blockMs`. */
  duplicate(suffix: string, blockMs: number): RedisClient {
    const connectionName = `${this.#options.connectionName}:${suffix}`;
    return new RedisClient(this.#address, { ...this.#options, connectionName, blockMs });
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

function checkScriptBytes(name: string, args: readonly (string | number)[]): void {
  let bytes = 0;
  for (const arg of args) if (typeof arg === 'string') bytes += arg.length;
  if (bytes <= MAX_SCRIPT_BYTES) return;
  const message = `${bytes} bytes for the store at once (${name}) are above the limit of ${MAX_SCRIPT_BYTES}: ask for less`;
  throw invalidArgument('too_large_for_store', message);
}

/** By the commands that a user who may only read is let use. ioredis' own scripts know the others alone. */
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
