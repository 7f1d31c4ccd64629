import type { RedisClient } from '../../redis/connect';
import type { Change } from '../port/placement-store';
import { revisionTrimmed } from '../port/revisions';
import { decodeChange } from './change-record';
import type { Keys } from './keys';

/** Longest wait of one read of the stream; then the follower checks that the store is the same. */
export const BLOCK_MS = 2_000;
const MAX_CHANGES = 500;
const MAX_OWN_CHANGES = 1_000;

/**
 * Changes that this process committed and that its follower has not come to yet: they are decoded already. Kept only
 * while somebody follows.
 */
export class OwnChanges {
  readonly #byRevision = new Map<number, Change>();
  #followerCount = 0;

  /** @param isExpected  true while this process waits for replies to commits */
  constructor(readonly isExpected: () => boolean) {}

  /** Begins to keep changes. Returns how to stop. */
  keep(): () => void {
    this.#followerCount++;
    return () => {
      if (--this.#followerCount === 0) this.#byRevision.clear();
    };
  }

  add(change: Change): void {
    if (this.#followerCount === 0) return;
    this.#byRevision.set(change.revision, change);
    if (this.#byRevision.size > MAX_OWN_CHANGES)
      this.#byRevision.delete(this.#byRevision.keys().next().value as number);
  }

  /** The change of a revision, if it is one of them; it and older ones are not kept any longer. */
  take(revision: number): Change | undefined {
    const change = this.#byRevision.get(revision);
    for (const kept of this.#byRevision.keys()) {
      if (kept > revision) break;
      this.#byRevision.delete(kept);
    }
    return change;
  }
}

interface StreamReader {
  readonly client: RedisClient;
  readonly keys: Keys;
  readonly own: OwnChanges;
}

interface StreamListener {
  readonly onChanges: (changes: readonly Change[]) => void;
  /** Awaited after each read that brought all changes there were. */
  readonly pause: (() => Promise<void>) | undefined;
}

/**
 * Follows the stream on a connection of its own. Entries have the revision as their id, without a gap; so a hole means
 * that the stream was trimmed, and a store behind the follower is another one, or one that lost its last writes in a
 * crash.
 */
export async function followStream(
  reader: StreamReader,
  from: number,
  { onChanges, pause }: StreamListener,
  signal: AbortSignal,
): Promise<void> {
  const { client, keys } = reader;
  let revision = from;
  let isQuiet = true;
  while (!signal.aborted) {
    // Changes that go on where the last ones ended prove by themselves that nothing is missing. Where there were none the
    // store is asked, in one packet: what is there before the read must come by it.
    const asked = isQuiet ? client.run(async (redis) => Number(await redis.get(keys.revision))) : revision;
    const reading = readChanges(reader, revision);
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
    if (first && changes.length < MAX_CHANGES) await pause?.();
  }
}

async function readChanges({ client, keys, own }: StreamReader, from: number): Promise<Change[]> {
  const reply = await client.run<StreamReply>((redis) =>
    redis.xread('COUNT', MAX_CHANGES, 'BLOCK', BLOCK_MS, 'STREAMS', keys.changes, `${from}-0`),
  );
  const entries = reply?.[0]?.[1] ?? [];
  if (own.isExpected()) await pendingReplies();
  return entries.map(([id, fields]) => {
    const revision = Number.parseInt(id, 10);
    return own.take(revision) ?? decodeChange(revision, fields[1] ?? '');
  });
}

type StreamReply = [key: string, entries: [id: string, fields: string[]][]][] | null;

/**
 * A process's own commits reach it twice at the same moment, as replies and by the stream, on two connections. Two turns
 * of the event loop later both have been read, so that the replies' changes are there to take.
 */
async function pendingReplies(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate);
}
