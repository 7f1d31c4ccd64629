import { type Identity, requireHost } from '#libs/contracts/identity';
import type { AcquireHostsRequest, HostGrant, ReleaseHostsRequest } from '#libs/contracts/messages';
import type { PlacementStore } from '#libs/placement/port/placement-store';

/**
 * Makes an agent's run the holder of the hosts that no other live run holds.
 *
 * @throws BerthError `permission_denied / wrong_host` when a host is not the sender's; `unavailable`.
 */
export async function acquireHosts(
  request: AcquireHostsRequest,
  sender: Identity,
  placement: PlacementStore,
  nowMs: number,
): Promise<readonly HostGrant[]> {
  requireSender(sender, request);
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
  requireSender(sender, request);
  await placement.releaseHosts(request);
}

/** Both the service host and each host that it is to carry must be the sender's. */
function requireSender(sender: Identity, { serviceHost, hosts }: ReleaseHostsRequest): void {
  requireHost(sender, serviceHost);
  for (const host of hosts) requireHost(sender, host);
}
