import type { Clock } from '#libs/domain/clock';
import type { BuildOrder } from './build-order';
import { createExpiringMap } from './expiring-map';
import { TOMBSTONE_KEPT_MS } from './tombstones';

/** How a build ended that left nothing. */
export interface ConcludedBuild {
  readonly outcome: 'failed' | 'refused';
  readonly reason: string;
  readonly message: string;
}

/**
 * Remembers how the builds of a host ended that left nothing there: failed or refused. Their orders may come again, when a
 * settlement was lost or somebody sent them twice, and then get the same answer. Nobody waits for what would be built instead,
 * and once the record is forgotten nobody knows it.
 */
export interface ConcludedBuilds {
  add(order: BuildOrder, result: ConcludedBuild): void;
  resultOf(order: BuildOrder): ConcludedBuild | undefined;
}

/** Of one host; the oldest go first. */
const MAX_CONCLUDED = 10_000;

export function createConcludedBuilds(clock: Clock): ConcludedBuilds {
  const limits = { keptMs: TOMBSTONE_KEPT_MS, maxCount: MAX_CONCLUDED };
  const concluded = createExpiringMap<ConcludedBuild>(clock, limits);
  return {
    add: (order, result) => concluded.put(keyOf(order), result),
    resultOf: (order) => concluded.get(keyOf(order)),
  };
}

/** By its claim, too: claim tokens rise without end, and a uuid may be used again. */
function keyOf({ instanceUuid, attempt, claimToken }: BuildOrder): string {
  return `${instanceUuid} ${attempt} ${claimToken}`;
}
