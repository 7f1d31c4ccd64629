import type { SetHostEnabledRequest, SetHostEnabledResponse } from '#libs/contracts/messages';
import type { Mirror } from '#libs/placement/mirror';
import type { PlacementStore } from '#libs/placement/store';
import { summarise } from './host-summary';
import { requireHost } from './list-hosts';

/**
 * Takes a host out of the choice, or puts it back. What runs there goes on. Schedulers that hear of it later may still
 * choose the host for a moment.
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
