import type { AcquireHostsRequest, HostGrant } from '#libs/contracts/host-leases';
import { type Identity, requireServiceHost } from '#libs/contracts/identity';
import type { ConductorContext } from '../context';

/**
 * Renews the leases of hosts that a run of an agent holds, for an agent that no scheduler answers.
 *
 * An agent takes no orders once its lease has run out, because another run may hold the host then. Schedulers renew it with each
 * report; without them a cell could build for the length of a lease only. A conductor has the store as well. It grants nothing
 * new: a host stays with the run that holds it, by the store's own rule, which gives a host to one run at a time. Nor does it
 * keep a host whose reports no scheduler takes from being evacuated: only schedulers mark a host down, and a host that is
 * down is not renewed.
 *
 * @returns a grant for each host in turn; epoch 0 for one that is not renewed
 * @throws BerthError `permission_denied / wrong_host`; `unavailable`
 */
export async function renewLeases(
  { placement, clock }: Pick<ConductorContext, 'placement' | 'clock'>,
  request: AcquireHostsRequest,
  sender: Identity,
): Promise<readonly HostGrant[]> {
  const { hosts, agentRun, serviceHost, leaseMs } = request;
  requireServiceHost(sender, serviceHost);
  const [rows, holders] = await Promise.all([placement.hosts(hosts), placement.holders(hosts)]);
  const up = new Set(rows.filter((row) => row.up).map(({ name }) => name));
  const held = hosts.filter((host, n) => {
    const holder = holders[n];
    return up.has(host) && holder?.agentRun === agentRun && holder.serviceHost === serviceHost;
  });
  const wanted = { hosts: held, agentRun, serviceHost, formerRun: '', leaseMs, atMs: clock.now() };
  const grants = held.length > 0 ? await placement.acquireHosts(wanted) : [];
  const epochs = new Map(held.map((host, n) => [host, grants[n]?.kind === 'granted' ? grants[n].epoch : 0]));
  return hosts.map((host) => ({ epoch: epochs.get(host) ?? 0, holderRun: '', holderServiceHost: '', heldForMs: 0 }));
}
