import type { PlacementView } from '#libs/placement/port/placement-view';
import type { HostState } from '../../fleet/host-state';

/**
 * Likelihood that a build on a host fails, from what the store knows: recent failures, which fade, over the claims
 * made there in the same time that still hold. A host with little history fails at the usual rate (one build in
 * twenty; a beta prior with the weight of ten builds).
 *
 * @param halfLifeMs  of failures; builds count for twice as long, so that both stand for about the same time
 */
export function failureRate(
  { root, recentFailures }: HostState,
  view: PlacementView,
  nowMs: number,
  halfLifeMs: number,
): number {
  const sinceMs = nowMs - 2 * halfLifeMs;
  let builds = 0;
  for (const uuid of view.consumersOn(root.uuid)) if ((view.consumer(uuid)?.createdAtMs ?? 0) >= sinceMs) builds += 1;
  return (recentFailures + PRIOR_FAILURES) / (recentFailures + builds + PRIOR_BUILDS);
}

const PRIOR_FAILURES = 0.5;
const PRIOR_BUILDS = 10;
