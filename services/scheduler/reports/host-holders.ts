import type { AcquireHostsRequest, HostGrant, ReleaseHostsRequest } from '#libs/contracts/host-leases';
import { type Identity, isPoolAgent, requireHost, requireServiceHost, speaksForHost } from '#libs/contracts/identity';
import type { HostGrant as PlacementGrant, PlacementStore } from '#libs/placement/port/placement-store';
import type { NewNames } from '../nodes/new-names';
import { requireHoldable, requirePool } from '../nodes/pool-rights';

interface HoldersDeps {
  readonly placement: PlacementStore;
  readonly countNew: NewNames;
  readonly nowMs: number;
}

/**
 * Makes an agent's run the holder of the hosts that no other live run holds.
 *
 * @throws BerthError `permission_denied / wrong_host` when a host is not the sender's, `/ wrong_pool`; `unavailable`.
 */
export async function acquireHosts(
  request: AcquireHostsRequest,
  sender: Identity,
  { placement, countNew, nowMs }: HoldersDeps,
): Promise<readonly HostGrant[]> {
  requireServiceHost(sender, request.serviceHost);
  requirePool(sender, request.pool ?? '');
  await requireHoldable(sender, request.hosts, placement, (agent, names) => countNew(agent, names, nowMs));
  let grants = await placement.acquireHosts({ ...request, atMs: nowMs });
  if (await endSquatting(request, grants, sender, placement))
    grants = await placement.acquireHosts({ ...request, atMs: nowMs });
  return grants.map((grant) => {
    if (grant.kind === 'granted') return { epoch: grant.epoch, holderRun: '', holderServiceHost: '', heldForMs: 0 };
    const { holder, leftMs } = grant;
    return { epoch: 0, holderRun: holder.agentRun, holderServiceHost: holder.serviceHost, heldForMs: leftMs };
  });
}

/**
 * Frees the names that an agent of a pool holds and that are the sender's by its user on the broker, as long as nobody has reported or
 * remembered them: an agent of a pool may bring nodes of any name, and so could keep every host from starting that is yet to come.
 *
 * @returns whether there were such names
 */
async function endSquatting(
  { hosts }: AcquireHostsRequest,
  grants: readonly PlacementGrant[],
  sender: Identity,
  placement: PlacementStore,
): Promise<boolean> {
  if (sender.kind !== 'agent' || isPoolAgent(sender)) return false;
  const taken = hosts.flatMap((host, n) => {
    const grant = grants[n];
    const isAnothers = grant?.kind === 'taken' && !speaksForHost(sender, grant.holder.serviceHost);
    return isAnothers ? [{ host, holder: grant.holder }] : [];
  });
  if (taken.length === 0) return false;
  const names = taken.map(({ host }) => host);
  const [reported, nodes] = await Promise.all([placement.hosts(names), placement.nodes(names)]);
  const known = new Set(reported.map(({ name }) => name));
  const squatted = taken.filter(({ host }, n) => !known.has(host) && nodes[n] === undefined);
  for (const { host, holder } of squatted) await placement.releaseHosts({ hosts: [host], ...holder });
  return squatted.length > 0;
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
