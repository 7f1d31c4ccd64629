import type { Clock } from '#libs/domain/clock';
import { createExpiringMap } from '#libs/runtime/expiring-map';
import { TOMBSTONE_KEPT_MS } from './tombstones';
import type { BuildOrder } from './tracked-instance';

/** The outcome of a build that left nothing. */
export interface ConcludedBuild {
  readonly outcome: 'failed' | 'refused';
  readonly reason: string;
  readonly message: string;
}

/**
 * Remembers the outcomes of a host's failed and refused builds. Their orders may come again, after a lost settlement or
 * a duplicate, and then get the same answer: nobody waits for a new build, and once the record is forgotten nobody
 * knows its instance.
 */
export interface ConcludedBuilds {
  add(order: BuildOrder, result: ConcludedBuild): void;
  resultOf(order: BuildOrder): ConcludedBuild | undefined;
}

/** Limit per host; the oldest are dropped. */
const MAX_CONCLUDED = 10_000;

export function createConcludedBuilds(clock: Clock): ConcludedBuilds {
  const limits = { keptMs: TOMBSTONE_KEPT_MS, maxCount: MAX_CONCLUDED };
  const concluded = createExpiringMap<ConcludedBuild>(clock, limits);
  return {
    add: (order, result) => concluded.put(keyOf(order), result),
    resultOf: (order) => concluded.get(keyOf(order)),
  };
}

/** The key includes the claim: claim tokens always rise, and a uuid may be used again. */
function keyOf({ instanceUuid, attempt, claimToken }: BuildOrder): string {
  return `${instanceUuid} ${attempt} ${claimToken}`;
}
