import type { Resources } from '#libs/domain/inventory';
import { candidatesInTree } from '#libs/placement/search/find-candidates';
import { planOf } from '#libs/placement/search/plan';
import type { Candidate } from '#libs/placement/search/query';
import { queryFromRequestSpec } from '#libs/placement/search/query';
import type { Reason } from '../filters/filter';
import { HostProviders } from '../fleet/host-providers';
import type { HostState } from '../fleet/host-state';
import type { EquivalenceClass } from '../request/equivalence-class';

/** What stands for the candidate search in a diagnosis, beside the filters. It has the last word. */
export const CANDIDATES = 'candidates';

/** Why the search refuses a host that passes all filters. */
export const NO_CANDIDATE: Reason = {
  symbol: 'no_candidate',
  phrase: 'have no providers that give all groups what they ask',
};

/** The same for one host. */
export const NO_CANDIDATE_SENTENCE = `${CANDIDATES}: no providers of the host give all groups what they ask`;

/** Whether more than one provider, or more than one group, is in play: then passing the filters is not enough. */
export function needsSearch({ requestGroups }: EquivalenceClass, { providers }: HostState): boolean {
  return providers !== undefined || requestGroups.length > 0;
}

/**
 * What an instance of the class would take from a host that passes the filters: the first way that the search finds.
 * When that one turns out to be taken, the next search, on what the store answered, finds the next way. A way that takes
 * everything from shared providers is none: nothing would say on which host the instance is.
 */
export function searchOn(equivalenceClass: EquivalenceClass, host: HostState): Candidate | undefined {
  const { root } = host;
  const forest = host.providers ?? HostProviders.ofRoot(host);
  const plan = planOf(forest, queryFromRequestSpec(equivalenceClass));
  if (!plan) return undefined;
  for (const candidate of candidatesInTree(plan, root.uuid, SEARCH)) {
    if (Object.keys(candidate.allocations).some((uuid) => forest.provider(uuid)?.rootUuid === root.uuid))
      return candidate;
  }
  return undefined;
}

/** A decision must not take long: about 10 ms of search on one host. */
const SEARCH = { maxStepsPerRoot: 10_000, symmetry: 'distinct' } as const;

/**
 * What instances take from flat hosts: all from the root, as the capacity and traits filters have said already that it can
 * give. The last one of each host is kept: requests of one class come in a row, and an object with a key of its own is
 * dear to make, and to keep with each claim.
 */
export class FlatCandidates {
  private readonly last = new Map<number, KeptCandidate>();

  on({ index, root }: HostState, { resources }: EquivalenceClass): Candidate {
    const kept = this.last.get(index);
    if (kept?.resources === resources && kept.candidate.rootUuid === root.uuid) return kept.candidate;
    const candidate = { rootUuid: root.uuid, allocations: { [root.uuid]: resources }, mappings: {} };
    this.last.set(index, { resources, candidate });
    return candidate;
  }
}

interface KeptCandidate {
  readonly resources: Resources;
  readonly candidate: Candidate;
}
