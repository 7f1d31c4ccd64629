import type { Clock } from '../domain/clock';
import { BerthError } from '../domain/errors';
import { retryWithBackoff } from '../runtime/backoff';
import { connectRedis, type RedisClient, type RedisClientOptions } from './connect';

/**
 * The row format version. A release that changes the format reads both and writes the old one; the next release writes
 * the new one. So processes of two consecutive releases share a store, in any order of upgrade.
 */
const WRITES = 1;
/** The latest format that this release reads. */
const READS = 1;
const RETRY = { firstMs: 50, maxMs: 2_000 };

/** Options besides those of the Redis connection. */
export interface CellConnectionOptions extends RedisClientOptions {
  readonly clock: Clock;
  readonly onlyReads?: boolean;
}

/**
 * Connects to a cell's store like `connectRedis`, and records the format that this process writes unless it only reads.
 * It also waits out an outage meanwhile.
 *
 * @throws BerthError like `connectRedis`; `failed_precondition / store_too_new` when a later release has written a
 *   format that this one can't read.
 */
export async function connectToCell(
  url: string,
  cell: string,
  { onlyReads = false, clock, ...options }: CellConnectionOptions,
  signal: AbortSignal = new AbortController().signal,
): Promise<RedisClient> {
  const client = await connectRedis(url, options, signal);
  const { log, random } = options;
  try {
    await retryWithBackoff(() => agreeOnSchema(client, cell, onlyReads), {
      ...RETRY,
      clock,
      random,
      signal,
      isRetryable: (error) => BerthError.from(error).code === 'unavailable',
      onFailure: (error) => log.warn({ event: 'store_unavailable', error }, 'store unavailable, asking it again'),
    });
    return client;
  } catch (thrown) {
    await client.close();
    throw thrown;
  }
}

/**
 * The format of a store's rows, 0 when none is recorded, with the latest format that this release reads and the one
 * that it writes.
 */
export interface StoredForm {
  readonly present: number;
  readonly reads: number;
  readonly writes: number;
}

/**
 * Reads the row format of a cell without writing or waiting for an absent store. @throws BerthError like
 * `connectRedis`.
 */
export async function readForm(
  { storeUrl, cell, storeTimeoutMs: commandTimeoutMs }: { storeUrl: string; cell: string; storeTimeoutMs: number },
  { log, random }: Pick<RedisClientOptions, 'log' | 'random'>,
  signal?: AbortSignal,
): Promise<StoredForm> {
  const options = { log, random, commandTimeoutMs, connectionName: 'berth-upgrade-check', isHasty: true };
  const client = await connectRedis(storeUrl, options, signal);
  try {
    return { present: await formOf(client, cell), reads: READS, writes: WRITES };
  } finally {
    await client.close();
  }
}

async function agreeOnSchema(client: RedisClient, cell: string, onlyReads: boolean): Promise<void> {
  const present = await formOf(client, cell);
  if (present > READS) {
    const message = `the store's rows have form ${present}, and this release of Berth reads up to ${READS}: upgrade it`;
    throw new BerthError('failed_precondition', 'store_too_new', message);
  }
  if (present < WRITES && !onlyReads) await client.run((redis) => redis.set(keyOf(cell), WRITES));
}

/** A store without a recorded format has the first one. */
async function formOf(client: RedisClient, cell: string): Promise<number> {
  return Number(await client.run((redis) => redis.get(keyOf(cell))));
}

function keyOf(cell: string): string {
  return `{${cell}}:schema`;
}
