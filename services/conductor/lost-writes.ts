import type { RunningInstance } from '#libs/contracts/messages';
import { attemptNumber, type Instance, type InstanceState } from '#libs/domain/instance';
import type { Conductor } from './context';

/** What the store may have lost of what was written to it: it was new, or another server went on with it. */
export interface LostWrites {
  /** Claims before this one were made in another store: this one has none of their records. */
  readonly bornWithToken: number;
  /** Claims before this one, which the store gave first since. Of this and later ones it has forgotten only what came to its end. */
  readonly beforeToken: number;
  /** By the store's clock, in milliseconds. */
  readonly upToMs: number;
}

/**
 * Asks the store. Claim tokens, like revisions, begin at the clock's microseconds whenever a store is new, or another
 * server goes on with it.
 */
export async function readLostWrites(c: Conductor): Promise<LostWrites> {
  const { bornAtMs, jumps } = await c.placement.identify();
  const bornWithToken = bornAtMs * 1_000;
  const beforeToken = Math.max(bornWithToken, jumps.at(-1)?.[1] ?? 0);
  return { bornWithToken, beforeToken, upToMs: Math.floor(beforeToken / 1_000) };
}

/**
 * Whether to leave a record in work alone for which no host has spoken. One from before the store went back may be older
 * than what was done for its instance: it may run by now. For a scheduling timeout hosts have the time to say so; then
 * nothing is to be waited for.
 */
export function isDoubtful(c: Conductor, record: Instance, lost: LostWrites): boolean {
  return (
    isInWork(record) && mayBeOlder(record, lost.upToMs) && c.clock.now() - lost.upToMs < c.config.schedulingTimeoutMs
  );
}

/**
 * Whether what runs was built by an order that the store has forgotten, or with it the whole instance. A store that went back
 * has lost few records; all others that it does not have came to their end. Of what ended since, it keeps the records for the
 * retention: after that, nobody can tell what was lost from what has ended.
 */
export function isForgotten(
  c: Conductor,
  record: Instance | undefined,
  { attempt, claimToken }: RunningInstance,
  { bornWithToken, beforeToken, upToMs }: LostWrites,
): boolean {
  if (claimToken >= beforeToken) return false;
  if (record === undefined) return claimToken < bornWithToken || c.clock.now() - upToMs <= c.config.retentionMs;
  return isInWork(record) && attemptNumber(record) < attempt && mayBeOlder(record, upToMs);
}

function isInWork({ state }: Instance): boolean {
  return IN_WORK.includes(state);
}

const IN_WORK: readonly InstanceState[] = ['scheduling', 'pending', 'building', 'rebuilding', 'preempting'];

function mayBeOlder({ updatedAtMs }: Instance, upToMs: number): boolean {
  return updatedAtMs <= upToMs;
}
