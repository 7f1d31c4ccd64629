import type { Clock } from '#libs/domain/clock';
import type { BuildOrder } from '../host/build-order';
import { TOMBSTONE_KEPT_MS } from '../host/tombstones';
import type { BuildResult } from '../reports/report-build';

/**
 * Remembers how the builds of a host ended that left nothing there: failed or refused. Their orders may come again, when a
 * settlement was lost or somebody sent them twice, and then get the same answer. Nobody waits for what would be built instead,
 * and once the record is forgotten nobody knows it.
 */
export interface ConcludedBuilds {
  add(order: BuildOrder, result: BuildResult): void;
  resultOf(order: BuildOrder): BuildResult | undefined;
}

/** Of one host; the oldest go first. */
const MAX_CONCLUDED = 10_000;

export function createConcludedBuilds(clock: Clock): ConcludedBuilds {
  /** Oldest first: in the order in which they expire. */
  const concluded = new Map<string, { readonly result: BuildResult; readonly expiresAtMs: number }>();
  return {
    add(order, result) {
      const nowMs = clock.elapsed();
      concluded.delete(keyOf(order));
      concluded.set(keyOf(order), { result, expiresAtMs: nowMs + TOMBSTONE_KEPT_MS });
      for (const [key, { expiresAtMs }] of concluded) {
        if (expiresAtMs > nowMs && concluded.size <= MAX_CONCLUDED) return;
        concluded.delete(key);
      }
    },
    resultOf: (order) => concluded.get(keyOf(order))?.result,
  };
}

/** By its claim, too: claim tokens rise without end, and a uuid may be used again. */
function keyOf({ instanceUuid, attempt, claimToken }: BuildOrder): string {
  return `${instanceUuid} ${attempt} ${claimToken}`;
}
