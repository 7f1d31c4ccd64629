import { type Identity, isPoolAgent, requireHost, requireServiceHost } from '#libs/contracts/identity';
import type { AcquireHostsRequest, HostGrant, ReleaseHostsRequest } from '#libs/contracts/messages';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { requireHoldable, requirePool } from '../nodes/pool-rights';

/**
 * Makes an agent's run the holder of the hosts that no other live run holds.
 *
 * @throws BerthError `permission_denied / wrong_host` when a host is not the sender's, `/ wrong_pool`; `unavailable`.
 */
export async function acquireHosts(
  request: AcquireHostsRequest,
  sender: Identity,
  placement: PlacementStore,
  nowMs: number,
): Promise<readonly HostGrant[]> {
  requireServiceHost(sender, request.serviceHost);
  requirePool(sender, request.pool ?? '');
  await requireHoldable(sender, request.hosts, placement);
  const grants = await placement.acquireHosts({ ...request, atMs: nowMs });
  return grants.map((grant) => {
    if (grant.kind === 'granted') return { epoch: grant.epoch, holderRun: '', holderServiceHost: '', heldForMs: 0 };
    const { holder, leftMs } = grant;
    return { epoch: 0, holderRun: holder.agentRun, holderServiceHost: holder.serviceHost, heldForMs: leftMs };
  });
}

/** Gives hosts back that the run holds. @throws BerthError likewise. */
export async function releaseHosts(
  request: ReleaseHostsRequest,
  sender: Identity,
  placement: PlacementStore,
): Promise<void> {
  requireServiceHost(sender, request.serviceHost);
  // The store gives back only what this run of this service host holds.
  if (!isPoolAgent(sender)) for (const host of request.hosts) requireHost(sender, host);
  await placement.releaseHosts(request);
}
