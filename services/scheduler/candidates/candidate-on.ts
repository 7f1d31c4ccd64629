import { candidatesInTree } from '#libs/placement/candidates/find-candidates';
import { queryFromRequestSpec } from '#libs/placement/candidates/from-request-spec';
import { planOf } from '#libs/placement/candidates/plan';
import type { Candidate } from '#libs/placement/candidates/query';
import type { PlacementView } from '#libs/placement/view';
import type { HostState } from '../fleet/host-state';
import type { Shape } from '../ranking/shape';

/**
 * What an instance of the shape takes from a host, or undefined when its providers can't give it. A flat host gives all
 * from its root, and the capacity and traits filters have said already that it can; all else is searched for.
 */
export function candidateOn(view: PlacementView, shape: Shape, host: HostState): Candidate | undefined {
  return needsSearch(shape, host) ? searched(view, shape, host) : flat(shape, host);
}

/** Whether more than one provider, or more than one group, is in play. */
export function needsSearch(shape: Shape, host: HostState): boolean {
  return !host.isFlat || shape.requestGroups.length > 0;
}

function flat(shape: Shape, { root }: HostState): Candidate {
  return { rootUuid: root.uuid, allocations: { [root.uuid]: shape.resources }, mappings: {} };
}

/**
 * The first way that the search finds on the host as it is now, claims on their way counted. When that one turns out to
 * be taken, the next search, on what the store answered, finds the next way: all are tried before the host is given up.
 * A way that takes everything from shared providers is none: nothing would say on which host the instance is.
 */
function searched(view: PlacementView, shape: Shape, { root }: HostState): Candidate | undefined {
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
