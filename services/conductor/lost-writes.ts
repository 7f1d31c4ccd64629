import type { RunningInstance } from '#libs/contracts/stats';
import { attemptNumber, BUILT_STATES, type Instance, type InstanceState } from '#libs/domain/instance';
import type { KeptEnded } from '#libs/instances/store';
import type { Sealing } from '#libs/placement/sealed/allocation-request';
import type { ConductorContext } from './context';

/** Up to when the store may have lost what was written to it: it was new then, or another server went on with it. */
export interface LostWrites {
  /** Claims before this one, which the store gave first since. Of this and later ones it has forgotten only what came to its end. */
  readonly beforeToken: number;
  /** By the store's clock, in milliseconds. */
  readonly upToMs: number;
  /** Each time that it lost writes, as far as it knows: the last revision that it still had, if any, and the first since. */
  readonly losses: readonly { readonly last: number | undefined; readonly next: number }[];
}

/**
 * Asks the store. Claim tokens, like revisions, begin at the clock's microseconds whenever a store is new, or another
 * server goes on with it.
 */
export async function readLostWrites(c: ConductorContext): Promise<LostWrites> {
  const { bornAtMs, jumps } = await c.placement.identify();
  const beforeToken = Math.max(bornAtMs * 1_000, jumps.at(-1)?.[1] ?? 0);
  const born = bornAtMs === 0 ? [] : [{ last: undefined, next: bornAtMs * 1_000 }];
  const losses = [...born, ...jumps.map(([last, next]) => ({ last, next }))];
  return { beforeToken, upToMs: Math.floor(beforeToken / 1_000), losses };
}

/** True if the running instance was built by an order that the store forgot, possibly with the whole instance. */
export function isForgotten(record: Instance | undefined, running: RunningInstance, lost: LostWrites): boolean {
  if (running.claimToken >= lost.beforeToken) return false;
  if (record === undefined) return true;
  // A record without an attempt may be younger: a request that came again after the loss, whose record was lost.
  const isOlder = record.attempts.length === 0 || isFromBefore(record, lost);
  return isOnNoHost(record) && attemptNumber(record) < running.attempt && isOlder;
}

/**
 * True when what was sealed for an instance may have been claimed in what the store has forgotten. All by what is sealed: what an
 * agent says of its claim it may make up.
 *
 * The naive way is to take any seal for proof: its host keeps the seals of instances that ended, and shows them when nobody knows
 * of those any more. So a seal counts only where its claim is younger than what the store still knows: it was sealed by a
 * revision that was lost, or so shortly before the loss that its record, had it ended before, would still be there. And only for a
 * day after the loss, or as long as records of what ended are kept: a host that was away then is heard by that time. Of what comes
 * later, and of seals that do not say when they were made, an operator decides.
 */
export function mayBeForgotten(
  { sealedAtMs, storeRevision }: Sealing,
  { losses }: LostWrites,
  { nowMs, retentionMs }: { readonly nowMs: number; readonly retentionMs: number },
): boolean {
  return losses.some(({ last, next }) => {
    const lostAtMs = next / 1_000;
    if (nowMs - lostAtMs > healMs(retentionMs)) return false;
    if (sealedAtMs === undefined) return last === undefined;
    if ((storeRevision ?? 0) >= next || sealedAtMs > lostAtMs + CLOCKS_APART_MS) return false;
    const isLost = last === undefined || (storeRevision ?? 0) > last;
    return isLost || sealedAtMs > lostAtMs - retentionMs;
  });
}

/**
 * Ended records that are kept after a loss, until seals prove nothing any more: those of instances from before it. A forgotten
 * record can't tell its instance from one that the store lost, so its host could have it made again by showing its seal.
 */
export function keptAfterLoss({ upToMs }: LostWrites, retentionMs: number): KeptEnded {
  return { createdUpToMs: upToMs + CLOCKS_APART_MS, untilMs: upToMs + healMs(retentionMs) - retentionMs };
}

/** Time after a loss in which seals prove what was lost. */
function healMs(retentionMs: number): number {
  return Math.max(retentionMs, HEAL_MS);
}

/** Least time after a loss in which hosts are believed about what was lost. */
const HEAL_MS = 86_400_000;
/** Largest difference between the clocks of a scheduler and of the store. */
const CLOCKS_APART_MS = 1_000;

/**
 * True when what runs elsewhere than its record says was moved there by what the store has forgotten: by a later attempt than the record
 * knows, which nobody else gives, and a later claim, or that of the move that the record is on. It is followed only where its record's
 * host is known not to run it.
 */
export function isMovedByForgotten(record: Instance | undefined, running: RunningInstance, lost: LostWrites): boolean {
  if (record?.claimToken === undefined || isOnNoHost(record) || !mayMove(record)) return false;
  const { attempt, claimToken } = running;
  // A claim that was made again since a loss is later than all that was forgotten then.
  const ownToken = record.claimToken;
  const isBetween = ({ next }: LostWrites['losses'][number]) => claimToken < next && next <= ownToken;
  const isLaterClaim = claimToken >= ownToken || lost.losses.some(isBetween);
  const isLater = attempt > attemptNumber(record) && isLaterClaim && claimToken < lost.beforeToken;
  return isLater && isFromBefore(record, lost);
}

function mayMove({ state }: Instance): boolean {
  return BUILT_STATES.includes(state) || ON_A_MOVE.includes(state);
}

const ON_A_MOVE: readonly InstanceState[] = ['resize', 'migrating', 'verify_resize', 'revert_resize'];

/**
 * True if a claim that the store forgot, later than the record's, ordered its host: the host takes no orders by earlier claims.
 */
export function isByForgottenClaim(
  record: Instance | undefined,
  { claimToken }: RunningInstance,
  { beforeToken }: LostWrites,
): boolean {
  return record?.claimToken !== undefined && claimToken > record.claimToken && claimToken < beforeToken;
}

/** True when by its record, which may be older than what was done, it is to be built or may be built on another host. */
export function mayBeBuiltElsewhere(record: Instance): boolean {
  return isOnNoHost(record) || ON_A_MOVE.includes(record.state);
}

/** No host has it for good, by its record. */
function isOnNoHost({ state }: Instance): boolean {
  return IN_WORK.includes(state);
}

const IN_WORK: readonly InstanceState[] = [
  'scheduling',
  'pending',
  'building',
  'rebuilding',
  'unshelving',
  'preempting',
  'shelved_offloaded',
];

/**
 * True when what a record says of where its instance runs is from before the store went back. What is written since (a host that is
 * silent, a claim that is made again) does not make an attempt of before any more certain.
 */
export function isFromBefore(record: Instance, lost: Pick<LostWrites, 'upToMs'>): boolean {
  const { state, attempts, migration, createdAtMs } = record;
  // The rest is settled with its gang.
  if (state === 'error') return createdAtMs <= lost.upToMs;
  // Writes about a move often concern one of its ends only: its claims say when it began.
  if (migration?.claimToken !== undefined) return migration.claimToken < lost.upToMs * 1_000;
  const isByAttempt = migration === undefined && (state === 'building' || BUILT_STATES.includes(state));
  const sinceMs = isByAttempt ? attempts.at(-1)?.startedAtMs : undefined;
  return (sinceMs ?? record.updatedAtMs) <= lost.upToMs;
}
