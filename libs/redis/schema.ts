import { BerthError } from '../domain/errors';
import { connectRedis, type RedisClient, type RedisClientOptions } from './connect';

/**
 * The form in which rows are stored. A release that changes it reads both forms and writes the old one; the release after
 * it writes the new one. So processes of two releases that follow each other work on one store, in any order.
 */
const WRITES = 1;
/** Up to which form this release reads. */
const READS = 1;

/**
 * Connects to the store of a cell, as `connectRedis`, and notes there in which form this process writes.
 *
 * @throws BerthError as `connectRedis`; `failed_precondition / store_too_new` when a later release has written what this one
 *   can't read.
 */
export async function connectToCell(
  url: string,
  cell: string,
  options: RedisClientOptions,
  signal?: AbortSignal,
): Promise<RedisClient> {
  const client = await connectRedis(url, options, signal);
  try {
    await agreeOnSchema(client, cell);
    return client;
  } catch (thrown) {
    await client.close();
    throw thrown;
  }
}

async function agreeOnSchema(client: RedisClient, cell: string): Promise<void> {
  const key = `{${cell}}:schema`;
  // A store without it is of a release before there were versions, whose form is the first.
  const present = Number(await client.run((redis) => redis.get(key)));
  if (present > READS) {
    const message = `the store's rows have form ${present}, and this release of Berth reads up to ${READS}: upgrade it`;
    throw new BerthError('failed_precondition', 'store_too_new', message);
  }
  if (present < WRITES) await client.run((redis) => redis.set(key, WRITES));
}
