import type { Clock } from '../domain/clock';
import { BerthError } from '../domain/errors';
import { retryWithBackoff } from '../runtime/backoff';
import { connectRedis, type RedisClient, type RedisClientOptions } from './connect';

/**
 * The form in which rows are stored. A release that changes it reads both forms and writes the old one; the release after
 * it writes the new one. So processes of two releases that follow each other work on one store, in any order.
 */
const WRITES = 1;
/** Up to which form this release reads. */
const READS = 1;
const RETRY = { firstMs: 50, maxMs: 2_000 };

/** Besides how to reach a Redis. */
export interface CellConnectionOptions extends RedisClientOptions {
  readonly clock: Clock;
  readonly onlyReads?: boolean;
}

/**
 * Connects to the store of a cell, as `connectRedis`, and notes there in which form this process writes, unless it only reads.
 * A store that goes away meanwhile is waited for, too.
 *
 * @throws BerthError as `connectRedis`; `failed_precondition / store_too_new` when a later release has written what this one
 *   can't read.
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

/** In which form a store's rows are, 0 when nothing says; and which forms this release reads, up to that, and writes. */
export interface StoredForm {
  readonly present: number;
  readonly reads: number;
  readonly writes: number;
}

/** Looks in which form the rows of a cell are, and writes nothing; waits for no store that is not there. @throws BerthError as `connectRedis`. */
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

/** A store without it is of a release before there were versions, whose form is the first. */
async function formOf(client: RedisClient, cell: string): Promise<number> {
  return Number(await client.run((redis) => redis.get(keyOf(cell))));
}

function keyOf(cell: string): string {
  return `{${cell}}:schema`;
}
