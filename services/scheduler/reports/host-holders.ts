import type { AcquireHostsRequest, HostGrant, ReleaseHostsRequest } from '#libs/contracts/messages';
import { agentSender } from '#libs/contracts/queues';
import { BerthError } from '#libs/domain/errors';
import type { PlacementStore } from '#libs/placement/port/placement-store';

/**
 * Makes an agent's run the holder of the hosts that no other live run holds.
 *
 * @throws BerthError `permission_denied / wrong_host` when the sender is not the service host's agent; `unavailable`.
 */
export async function acquireHosts(
  { serviceHost, agentRun, hosts, leaseMs }: AcquireHostsRequest,
  sender: string,
  placement: PlacementStore,
  nowMs: number,
): Promise<readonly HostGrant[]> {
  requireSender(serviceHost, sender);
  const wanted = { atMs: nowMs, agentRun, serviceHost, hosts, leaseMs };
  const grants = await placement.acquireHosts(wanted);
  return grants.map((grant) => {
    if (grant.kind === 'granted') return { epoch: grant.epoch, holderRun: '', holderServiceHost: '', heldForMs: 0 };
    const { holder, leftMs } = grant;
    return { epoch: 0, holderRun: holder.agentRun, holderServiceHost: holder.serviceHost, heldForMs: leftMs };
  });
}

/** Gives hosts back that the run holds. @throws BerthError likewise. */
export async function releaseHosts(
  { serviceHost, agentRun, hosts }: ReleaseHostsRequest,
  sender: string,
  placement: PlacementStore,
): Promise<void> {
  requireSender(serviceHost, sender);
  await placement.releaseHosts({ agentRun, serviceHost, hosts });
}

function requireSender(serviceHost: string, sender: string): void {
  if (sender === agentSender(serviceHost)) return;
  const message = `'${sender.slice(0, 64)}' may not hold hosts of ${serviceHost}: only ${agentSender(serviceHost)} may`;
  throw new BerthError('permission_denied', 'wrong_host', message, { details: { field: 'service_host' } });
}
