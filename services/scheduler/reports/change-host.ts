import type { HostSummary, SetDeviceTaintRequest, SetDeviceTaintResponse } from '#libs/contracts/hosts';
import { MAX_DEVICE_TAINTS } from '#libs/domain/devices/limits';
import { BerthError } from '#libs/domain/errors';
import type { Mirror } from '#libs/placement/mirror/mirror';
import { nestedProviderName } from '#libs/placement/port/nested-provider';
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
 * An operator's taint of a device: for new claims, and where it says so for who has it (a conductor moves them away).
 *
 * @throws BerthError `not_found / no_such_host`, `/ no_such_device`; `resource_exhausted / too_many_taints`; `unavailable`.
 */
export async function taintDevice(
  asked: SetDeviceTaintRequest,
  { placement, mirror, nowMs }: Omit<HostChangeDeps, 'fleet'>,
): Promise<SetDeviceTaintResponse> {
  const { host, device } = asked;
  const row = requireHost(mirror, host);
  const find = () =>
    mirror.tree(row.providerUuid).find(({ name }) => name === nestedProviderName(host, device))?.device;
  const noSuchDevice = () =>
    new BerthError('not_found', 'no_such_device', `host ${host} has no device '${device}'`, {
      details: { host, device },
    });
  if (!find()) throw noSuchDevice();
  const result = await placement.commit({ kind: 'taint_device', ...asked, most: MAX_DEVICE_TAINTS, atMs: nowMs });
  // The mirror had it still.
  if (result.kind === 'not_found') throw noSuchDevice();
  if (result.kind === 'full') {
    const message = `${device} of ${host} has ${MAX_DEVICE_TAINTS} taints already: take some off`;
    throw new BerthError('resource_exhausted', 'too_many_taints', message);
  }
  if (result.kind === 'committed') mirror.apply(result.change);
  return { taints: find()?.taints ?? {} };
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
