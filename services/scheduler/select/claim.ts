import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { RequestSpec } from '#libs/domain/request-spec';
import { claimWrite } from '#libs/placement/claims';
import type { CommitResult, PlacementStore } from '#libs/placement/store';
import type { PlacementView } from '#libs/placement/view';
import type { Pick } from './picker';

/** What a claim needs of the mirror: to read its own writes, and to catch up when it was behind. */
export interface ClaimMirror extends PlacementView {
  apply(change: Extract<CommitResult, { kind: 'committed' }>['change']): void;
  learn(rows: { readonly usages: readonly Extract<CommitResult, { kind: 'capacity' }>['usage'][] }): void;
  waitFor(revision: number, limits: { readonly timeoutMs: number; readonly signal?: AbortSignal }): Promise<void>;
}

/** A claim came through and has this token, or the mirror was stale: it is fresh now, decide again. */
export type Claimed = { readonly kind: 'claimed'; readonly claimRevision: number } | { readonly kind: 'conflict' };

/**
 * Claims all picks in one commit. When somebody was faster, brings the mirror up to date.
 *
 * @throws BerthError `unavailable`: the store is away, and whether the claim was made is not known; asking again finds it.
 */
export async function claimAll(
  picks: readonly Pick[],
  spec: RequestSpec,
  caller: { readonly signal: AbortSignal },
  {
    placement,
    mirror,
    clock,
  }: { readonly placement: PlacementStore; readonly mirror: ClaimMirror; readonly clock: Clock },
): Promise<Claimed> {
  const consumers = picks.map((pick) => {
    const present = mirror.consumer(pick.instanceUuid);
    const { host, candidate } = pick;
    const request = {
      consumerUuid: pick.instanceUuid,
      projectId: spec.projectId,
      userId: spec.userId,
      group: spec.group,
      host: host.host.name,
      allocations: candidate.allocations,
      mappings: candidate.mappings,
    };
    // What it holds and does not fit the spec is replaced, but only if it is still what the decision saw.
    return claimWrite(request, present ? { kind: 'claim', claimRevision: present.claimRevision } : { kind: 'absent' });
  });
  const result = await placement.commit({ kind: 'write_allocations', atMs: clock.now(), consumers });
  switch (result.kind) {
    case 'committed':
      mirror.apply(result.change);
      return { kind: 'claimed', claimRevision: result.change.revision };
    case 'capacity':
      mirror.learn({ usages: [result.usage] });
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
