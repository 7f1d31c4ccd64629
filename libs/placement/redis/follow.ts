import type { RedisClient } from '../../redis/connect';
import { revisionTrimmed } from '../commands/revisions';
import type { Change } from '../store';
import type { Keys } from './keys';
import { decodeChange } from './rows';

/** How long one read of the stream may wait; after it, the follower looks whether the store is still the same. */
export const BLOCK_MS = 2_000;
const BATCH = 500;

type StreamReply = [key: string, entries: [id: string, fields: string[]][]][] | null;

/**
 * Follows the stream on a connection that nobody else uses. Entries have the revision as their id, without a gap; so a
 * hole means that the stream was trimmed, and a store behind the follower is another one, or one that lost its last
 * writes in a crash.
 */
export async function followStream(
  client: RedisClient,
  keys: Keys,
  from: number,
  onChanges: (changes: readonly Change[]) => void,
  signal: AbortSignal,
  hasSeen: (revision: number) => boolean,
): Promise<void> {
  let revision = from;
  let isQuiet = true;
  while (!signal.aborted) {
    // Changes that go on where the last ones ended say by themselves that nothing is missing. Where there were none the
    // store is asked, in one packet: what is there before the read must come by it.
    const asked = isQuiet ? client.run(async (redis) => Number(await redis.get(keys.revision))) : revision;
    const reading = readChanges(client, keys, revision, hasSeen);
    reading.catch(() => {});
    const present = await asked;
    if (present < revision) throw revisionTrimmed(revision);
    const changes = await reading;
    const [first] = changes;
    isQuiet = first === undefined;
    if (isQuiet && present > revision) throw revisionTrimmed(revision);
    // The first revision of an empty store is not 1.
    if (first && revision > 0 && first.revision !== revision + 1) throw revisionTrimmed(revision);
    if (signal.aborted) return;
    if (first) onChanges(changes);
    revision = changes.at(-1)?.revision ?? revision;
  }
}

async function readChanges(
  client: RedisClient,
  keys: Keys,
  from: number,
  hasSeen: (revision: number) => boolean,
): Promise<Change[]> {
  const reply = await client.run<StreamReply>((redis) =>
    redis.xread('COUNT', BATCH, 'BLOCK', BLOCK_MS, 'STREAMS', keys.changes, `${from}-0`),
  );
  const entries = reply?.[0]?.[1] ?? [];
  await answersOfThisMoment();
  return entries.map(([id, fields]) => {
    const revision = Number.parseInt(id, 10);
    return hasSeen(revision) ? { revision } : decodeChange(revision, fields[1] ?? '');
  });
}

/**
 * A process's own commits come to it twice in the same moment, as their answers and by the stream, on two connections. Two
 * turns of the event loop later both have been read, and what the answers said need not be decoded again.
 */
async function answersOfThisMoment(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate);
}
