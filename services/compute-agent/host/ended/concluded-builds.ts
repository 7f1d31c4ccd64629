import type { Clock } from '#libs/domain/clock';
import { createExpiringMap } from '#libs/runtime/expiring-map';
import type { BuildOrder } from '../tracked-instance';
import type { KeptMs } from './kept-ms';
import { isCovered } from './tombstones';

type Order = Pick<BuildOrder, 'instanceUuid' | 'attempt' | 'claimToken'>;

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
  /** @param deadlineAtMs  of the order, in store time */
  add(order: Order, result: ConcludedBuild, deadlineAtMs?: number): void;
  /** The outcome of the order, or of a later attempt of the instance: attempts and claims rise, so the order is late. */
  resultOf(order: Order): ConcludedBuild | undefined;
}

/** Limit per host; the oldest are dropped. */
const MAX_CONCLUDED = 10_000;

export function createConcludedBuilds(clock: Clock, keptMs: KeptMs): ConcludedBuilds {
  const limits = { keptMs: keptMs(), maxCount: MAX_CONCLUDED };
  const concluded = createExpiringMap<Order & { readonly result: ConcludedBuild }>(clock, limits);
  return {
    add: ({ instanceUuid, attempt, claimToken }, result, deadlineAtMs) =>
      concluded.put(instanceUuid, { instanceUuid, attempt, claimToken, result }, keptMs(deadlineAtMs)),
    resultOf(order) {
      const last = concluded.get(order.instanceUuid);
      return last && isCovered(order, last) ? last.result : undefined;
    },
  };
}
