import type { ReleaseClaimsRequest, ReleaseClaimsResponse } from '#libs/contracts/release-claims';
import type { Conductor } from './conductor';

/**
 * Gives back what the top had selected here and has no use for. What is on record by now is left alone: its record looks after its
 * claim.
 */
export async function releaseClaims(c: Conductor, { claims }: ReleaseClaimsRequest): Promise<ReleaseClaimsResponse> {
  const records = await c.instances.get(claims.map(({ instanceUuid }) => instanceUuid));
  const onRecord = new Set(records.map(({ uuid }) => uuid));
  let released = 0;
  for (const { instanceUuid: consumerUuid, claimToken } of claims) {
    if (onRecord.has(consumerUuid)) continue;
    const command = { kind: 'release_claim', atMs: c.clock.now(), consumerUuid, claimToken } as const;
    if ((await c.placement.commit(command)).kind === 'committed') released += 1;
  }
  return { released };
}
