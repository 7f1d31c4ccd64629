import { candidatesInTree } from '#libs/placement/candidates/find-candidates';
import { queryFromRequestSpec } from '#libs/placement/candidates/from-request-spec';
import { planOf } from '#libs/placement/candidates/plan';
import type { Candidate } from '#libs/placement/candidates/query';
import type { PlacementView } from '#libs/placement/view';
import type { HostState } from '../fleet/host-state';
import type { Shape } from '../ranking/shape';

/** Whether more than one provider, or more than one group, is in play. */
export function needsSearch(shape: Shape, host: HostState): boolean {
  return !host.isFlat || shape.requestGroups.length > 0;
}

/**
 * The first way that the search finds on the host as it is now, claims on their way counted. When that one turns out to
 * be taken, the next search, on what the store answered, finds the next way: all are tried before the host is given up.
 * A way that takes everything from shared providers is none: nothing would say on which host the instance is.
 */
export function searchOn(view: PlacementView, shape: Shape, { root }: HostState): Candidate | undefined {
  const plan = planOf(view, queryFromRequestSpec(shape));
  if (!plan) return undefined;
  for (const candidate of candidatesInTree(plan, root.uuid, SEARCH)) {
    if (Object.keys(candidate.allocations).some((uuid) => view.provider(uuid)?.rootUuid === root.uuid))
      return candidate;
  }
  return undefined;
}

/** A decision must not take long: about 10 ms of search on one host. */
const SEARCH = { maxStepsPerRoot: 10_000, symmetry: 'distinct' } as const;
