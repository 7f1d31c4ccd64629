import type { Clock } from '../domain/clock';
import { BerthError } from '../domain/errors';
import { retryWithBackoff } from '../runtime/backoff';
import { connectRedis, type RedisClient, type RedisClientOptions } from './connect';

/**
 * The row format version. A release that changes the format reads both and writes the old one; the next release writes
 * the new one. So processes of two consecutive releases share a store, in any order of upgrade.
 */
export const WRITES = 2;
/** The latest format that this release reads. */
const READS = 2;
/** The first format that this release reads. */
const READS_FROM = 2;
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
 * @throws BerthError like `connectRedis`; `failed_precondition / store_too_new` or `/ store_too_old` when another release
 *   has written a format that this one can't read.
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
 * The format of a store's rows, 0 of a new store, with the first and the latest format that this release reads and the
 * one that it writes.
 */
export interface StoredForm {
  readonly present: number;
  readonly readsFrom: number;
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
    return { present: await formOf(client, cell), readsFrom: READS_FROM, reads: READS, writes: WRITES };
  } finally {
    await client.close();
  }
}

/** The error of a format that this release can't read. */
export function formProblem({ present, readsFrom, reads }: Omit<StoredForm, 'writes'>): BerthError | undefined {
  if (present > reads) {
    const message = `the store's rows have form ${present}, and this release of Berth reads up to ${reads}: upgrade it`;
    return new BerthError('failed_precondition', 'store_too_new', message);
  }
  if (present > 0 && present < readsFrom) {
    const message = `the store's rows have form ${present}, and this release of Berth reads from ${readsFrom}: upgrade by a release between, or empty the store`;
    return new BerthError('failed_precondition', 'store_too_old', message);
  }
  return undefined;
}

async function agreeOnSchema(client: RedisClient, cell: string, onlyReads: boolean): Promise<void> {
  const present = await formOf(client, cell);
  const problem = formProblem({ present, readsFrom: READS_FROM, reads: READS });
  if (problem) throw problem;
  if (present < WRITES && !onlyReads) await client.run((redis) => redis.set(formKeysOf(cell).schema, WRITES));
}

/**
 * A store without rows is new: 0. The first commit on a new store records the format of its rows, also of one that was
 * emptied under a process; so rows without a recorded format have the first one.
 */
async function formOf(client: RedisClient, cell: string): Promise<number> {
  const { schema, revision } = formKeysOf(cell);
  const [form, last] = await client.run((redis) => redis.mget(schema, revision));
  return Number(form ?? (last ? 1 : 0));
}

/** The keys that show the format of a cell's rows, and whether there are any. */
export function formKeysOf(cell: string): { readonly schema: string; readonly revision: string } {
  return { schema: `{${cell}}:schema`, revision: `{${cell}}:revision` };
}
