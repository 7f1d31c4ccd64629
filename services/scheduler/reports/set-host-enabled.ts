import type { SetHostEnabledRequest, SetHostEnabledResponse } from '#libs/contracts/messages';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { summarise } from './host-summary';
import { requireHost } from './list-hosts';

/**
 * Disables a host for new instances, or enables it again; what runs there is not touched. Another scheduler may still
 * select the host until its mirror shows the change.
 *
 * @throws BerthError `not_found / no_such_host`, `unavailable`.
 */
export async function setHostEnabled(
  { host, enabled, reason }: SetHostEnabledRequest,
  { placement, mirror, nowMs }: { readonly placement: PlacementStore; readonly mirror: Mirror; readonly nowMs: number },
): Promise<SetHostEnabledResponse> {
  const result = await placement.commit({ kind: 'set_host_enabled', host, enabled, reason, atMs: nowMs });
  if (result.kind === 'committed') mirror.apply(result.change);
  return { host: summarise(mirror, requireHost(mirror, host)) };
}
