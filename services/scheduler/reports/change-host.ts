import type { HostSummary } from '#libs/contracts/hosts';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type { ClearFailures, PlacementStore, SetHostEnabled } from '#libs/placement/port/placement-store';
import type { Fleet } from '../fleet/fleet';
import { summarise } from '../summary/host-summary';
import { requireHost } from './list-hosts';

export interface HostChangeDeps {
  readonly placement: PlacementStore;
  readonly mirror: Mirror;
  readonly fleet: Fleet;
  readonly nowMs: number;
}

/**
 * An operator's decision on a host: disable or enable it for new instances, or clear its failures. Instances there are not
 * touched. Another scheduler may still select the host, or not, until its mirror shows the change.
 *
 * @throws BerthError `not_found / no_such_host`, `unavailable`.
 */
export async function changeHost(
  command: SetHostEnabled | ClearFailures,
  { placement, mirror, fleet, nowMs }: HostChangeDeps,
): Promise<{ readonly host: HostSummary }> {
  const result = await placement.commit({ ...command, atMs: nowMs });
  if (result.kind === 'committed') mirror.apply(result.change);
  return { host: summarise(mirror, requireHost(mirror, command.host), fleet.quarantines(nowMs)) };
}
