import type { Resources } from '#libs/domain/inventory';
import type { Candidate } from '#libs/placement/candidates/query';
import type { HostState } from '../fleet/host-state';

/**
 * What instances take from flat hosts: all from the root, as the capacity and traits filters have said already that it can
 * give. The last one of each host is kept: requests of one shape come in a row, and an object with a key of its own is
 * dear to make, and to keep with each claim.
 */
export class FlatCandidates {
  private readonly last: (Kept | undefined)[] = [];

  on({ index, root }: HostState, resources: Resources): Candidate {
    const kept = this.last[index];
    if (kept?.resources === resources && kept.candidate.rootUuid === root.uuid) return kept.candidate;
    const candidate = { rootUuid: root.uuid, allocations: { [root.uuid]: resources }, mappings: {} };
    this.last[index] = { resources, candidate };
    return candidate;
  }
}

interface Kept {
  readonly resources: Resources;
  readonly candidate: Candidate;
}
