import type { PlacementView } from '#libs/placement/port/placement-view';
import type { HostState } from '../../fleet/host-state';

/**
 * How likely a build on a host fails, as far as the store knows: recent failures, which fade, against what was claimed there
 * within the same time and is still there. A host of which little is known fails as hosts do at large (one build in twenty;
 * a beta prior that weighs as ten builds).
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
