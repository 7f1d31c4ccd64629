import { hostDiscrepancyCodec } from '#libs/contracts/compute';
import { attemptNumber, type Instance } from '#libs/domain/instance';
import type { Doubt } from '#libs/instances/doubts';

/** By the uuid of an instance, the hosts where it is a stray, each with the latest attempt that was seen there. */
export type Strays = ReadonlyMap<string, ReadonlyMap<string, number>>;

/**
 * The hosts to which the store may have forgotten that the instance moved, among those where it is a stray. An attempt before the one
 * that ran last is superseded: it stays in doubt, and holds nothing up.
 */
export function followedHosts(record: Instance, strays: Strays): readonly string[] {
  const ranLast = record.attempts.at(-1)?.outcome === 'active' ? attemptNumber(record) : 0;
  const attempts = [...(strays.get(record.uuid) ?? [])];
  return attempts.filter(([, attempt]) => attempt >= ranLast).map(([host]) => host);
}

export function straysOf(doubts: readonly Doubt[]): Strays {
  const strays = new Map<string, Map<string, number>>();
  for (const { instanceUuid: uuid, host, finding, evidence } of doubts) {
    if (finding !== 'stray') continue;
    const attempts = strays.get(uuid) ?? new Map<string, number>();
    strays.set(uuid, attempts.set(host, Math.max(attemptSeen(evidence), attempts.get(host) ?? 0)));
  }
  return strays;
}

/** Infinity where no report says it, as of agents of an older version. */
function attemptSeen(evidence: Uint8Array): number {
  const { present = [], unclaimed = [] } = evidence.length > 0 ? hostDiscrepancyCodec.decode(evidence) : {};
  return [...present, ...unclaimed][0]?.attempt || Number.POSITIVE_INFINITY;
}
