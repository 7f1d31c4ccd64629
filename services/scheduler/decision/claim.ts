import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { claimWrite } from '#libs/placement/sealed/claim-write';
import type { PickedHost } from './pick-hosts';

/** What a claim needs of the mirror: to read its own writes, and to catch up after a conflict. */
export type ClaimMirror = Pick<Mirror, 'consumer' | 'apply' | 'applyRows' | 'waitFor'>;

/** The claim is made and has this token; or the decision was stale, the mirror is up to date now, and it must be made again. */
export type Claimed = { readonly kind: 'claimed'; readonly claimToken: number } | { readonly kind: 'conflict' };

/**
 * Claims all picks in one commit. After a conflict, brings the mirror up to date.
 *
 * @throws BerthError `unavailable`: the store is away, and whether the claim was made is not known; asking again finds it.
 */
export async function claimAll(
  picks: readonly PickedHost[],
  spec: RequestSpec,
  caller: { readonly signal: AbortSignal },
  {
    placement,
    mirror,
    clock,
  }: { readonly placement: PlacementStore; readonly mirror: ClaimMirror; readonly clock: Clock },
): Promise<Claimed> {
  const { projectId, userId, group } = spec;
  const consumers = picks.map(({ instanceUuid: consumerUuid, host: { host }, candidate }) => {
    const { allocations, mappings } = candidate;
    const present = mirror.consumer(consumerUuid);
    const request = { consumerUuid, projectId, userId, group, host: host.name, allocations, mappings };
    // A claim that does not fit the spec is replaced, but only if it is still the one that the decision saw.
    return claimWrite(request, present ? { kind: 'claim', claimToken: present.claimToken } : { kind: 'absent' });
  });
  const result = await placement.commit({ kind: 'write_allocations', atMs: clock.now(), consumers });
  switch (result.kind) {
    case 'committed':
      mirror.apply(result.change);
      return { kind: 'claimed', claimToken: result.claimToken };
    case 'capacity':
      mirror.applyRows({ usages: [result.usage] });
      return { kind: 'conflict' };
    case 'group':
    case 'generation':
    case 'not_found':
      // Members, a claim or a provider that the mirror did not know: see all that the store has seen.
      await mirror.waitFor(await placement.revision(), { timeoutMs: CATCH_UP_MS, signal: caller.signal });
      return { kind: 'conflict' };
    case 'unchanged':
    case 'exists':
    case 'in_use':
    case 'stale':
      throw new BerthError('internal', 'unexpected_commit', `a claim was answered '${result.kind}'`);
  }
}

const CATCH_UP_MS = 5_000;
