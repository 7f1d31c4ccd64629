import type { RunningInstance } from '#libs/contracts/messages';
import { attemptNumber, type Instance, type InstanceState } from '#libs/domain/instance';
import type { Conductor } from './context';

/** Up to when the store may have lost what was written to it: it was new then, or another server went on with it. */
export interface LostWrites {
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
  const beforeToken = Math.max(bornAtMs * 1_000, jumps.at(-1)?.[1] ?? 0);
  return { beforeToken, upToMs: Math.floor(beforeToken / 1_000) };
}

/**
 * Whether to leave a record in work alone for which no host has spoken. One from before the store went back may be older
 * than what was done for its instance: it may run by now. For a scheduling timeout hosts have the time to say so; then
 * nothing is to be waited for.
 */
export function isDoubtful(c: Conductor, record: Instance, lost: LostWrites): boolean {
  return isInWork(record) && mayBeOlder(record, lost) && c.clock.now() - lost.upToMs < c.config.schedulingTimeoutMs;
}

/** Whether what runs was built by an order that the store has forgotten, or with it the whole instance. */
export function isForgotten(record: Instance | undefined, running: RunningInstance, lost: LostWrites): boolean {
  if (running.claimToken >= lost.beforeToken) return false;
  if (record === undefined) return true;
  const isOnItsWay = isInWork(record) || record.state === 'shelved_offloaded';
  return isOnItsWay && attemptNumber(record) < running.attempt && mayBeOlder(record, lost);
}

/**
 * Whether its host was ordered by a claim that the store has forgotten, later than the record's: it takes no orders by an earlier one.
 */
export function isByForgottenClaim(
  record: Instance | undefined,
  { claimToken }: RunningInstance,
  { beforeToken }: LostWrites,
): boolean {
  return record?.claimToken !== undefined && claimToken > record.claimToken && claimToken < beforeToken;
}

function isInWork({ state }: Instance): boolean {
  return IN_WORK.includes(state);
}

const IN_WORK: readonly InstanceState[] = [
  'scheduling',
  'pending',
  'building',
  'rebuilding',
  'unshelving',
  'preempting',
];

function mayBeOlder({ updatedAtMs }: Instance, { upToMs }: LostWrites): boolean {
  return updatedAtMs <= upToMs;
}
