import { hostDiscrepancyCodec } from '#libs/contracts/compute';
import { attemptNumber, type Instance } from '#libs/domain/instance';
import type { Doubt } from '#libs/instances/doubts';

/**
 * True when the store may have forgotten that the instance moved to where it is a stray. An attempt before the one that ran last is
 * superseded: it stays in doubt, and holds nothing up.
 *
 * @param strayAttempt  undefined for an instance that is no stray
 */
export function mayBeFollowed(record: Instance, strayAttempt: number | undefined): boolean {
  if (strayAttempt === undefined) return false;
  return record.attempts.at(-1)?.outcome !== 'active' || strayAttempt >= attemptNumber(record);
}

/** The latest attempt of each instance that was seen where its record does not have it, by uuid. */
export function attemptsOfStrays(doubts: readonly Doubt[]): ReadonlyMap<string, number> {
  const attempts = new Map<string, number>();
  for (const { instanceUuid: uuid, finding, evidence } of doubts) {
    if (finding === 'stray') attempts.set(uuid, Math.max(attemptSeen(evidence), attempts.get(uuid) ?? 0));
  }
  return attempts;
}

/** Infinity where no report says it, as of agents of an older version. */
function attemptSeen(evidence: Uint8Array): number {
  const { present = [], unclaimed = [] } = evidence.length > 0 ? hostDiscrepancyCodec.decode(evidence) : {};
  return [...present, ...unclaimed][0]?.attempt || Number.POSITIVE_INFINITY;
}
