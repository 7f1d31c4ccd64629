import type { ListHostsRequest, ListHostsResponse } from '#libs/contracts/hosts';
import { BerthError } from '#libs/domain/errors';
import { indexAfter } from '#libs/domain/names';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { Fleet } from '../fleet/fleet';
import { summarise } from '../summary/host-summary';

/**
 * Hosts by name, after the marker, at most `limit`; or the one that is named.
 *
 * @throws BerthError `not_found / no_such_host`.
 */
export function listHosts(
  { host: name, marker, limit }: ListHostsRequest,
  fleet: Fleet,
  nowMs: number,
): ListHostsResponse {
  const { view } = fleet;
  const quarantines = fleet.quarantines(nowMs);
  if (name !== '') return { hosts: [summarise(view, requireHost(view, name), quarantines)] };
  const names = fleet.names(nowMs);
  const from = indexAfter(names, marker);
  const hosts = names.slice(from, from + limit).map((one) => view.host(one));
  return { hosts: hosts.filter((host) => host !== undefined).map((host) => summarise(view, host, quarantines)) };
}

/** @throws BerthError `not_found / no_such_host`. */
export function requireHost(view: PlacementView, name: string) {
  const host = view.host(name);
  if (!host)
    throw new BerthError('not_found', 'no_such_host', `there is no host '${name}'`, { details: { host: name } });
  return host;
}
