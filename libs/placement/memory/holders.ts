import type { Stored, StoredHolder } from '../commands/tables';
import type { AcquireHosts, HostGrant, HostHolder, ReleaseHosts } from '../port/placement-store';

/** Holders by host, each with its epoch as the revision. */
export type Holders = Map<string, Stored<StoredHolder>>;

/** As `redis/lua/acquire-hosts.lua`. */
export function acquireHosts(
  holders: Holders,
  { hosts, agentRun, serviceHost, leaseMs, atMs, formerRun = '' }: AcquireHosts,
): HostGrant[] {
  const wanted = { agentRun, serviceHost };
  const former = { agentRun: formerRun, serviceHost };
  return hosts.map((host) => {
    const present = holders.get(host);
    const isMine = present !== undefined && isSame(present.row, wanted);
    const isFormer = present !== undefined && formerRun !== '' && isSame(present.row, former);
    if (present && !isMine && !isFormer && present.row.untilMs > atMs) {
      const { agentRun: run, serviceHost: service, untilMs, leaseMs: itsLeaseMs } = present.row;
      // More than twice its length is a clock that was set back; less may be a request that comes late.
      const isTooLong = untilMs - atMs > 2 * itsLeaseMs;
      const leftMs = isTooLong ? itsLeaseMs : untilMs - atMs;
      if (isTooLong) holders.set(host, { ...present, row: { ...present.row, untilMs: atMs + leftMs } });
      return { kind: 'taken', holder: { agentRun: run, serviceHost: service }, leftMs };
    }
    const epoch = isMine ? present.revision : Math.max((present?.revision ?? 0) + 1, atMs);
    holders.set(host, { revision: epoch, row: { ...wanted, leaseMs, untilMs: atMs + leaseMs } });
    return { kind: 'granted', epoch };
  });
}

/** As `redis/lua/release-hosts.lua`. */
export function releaseHosts(holders: Holders, { hosts, ...holder }: ReleaseHosts): void {
  for (const host of hosts) {
    const present = holders.get(host);
    if (present && isSame(present.row, holder)) holders.set(host, { revision: present.revision + 1, row: NOBODY });
  }
}

/** The lease of whoever holds a host begins anew. */
export function renewHolder(holders: Holders, host: string, atMs: number): void {
  const present = holders.get(host);
  if (!present || present.row.leaseMs === 0) return;
  // A renewal that comes late never shortens a lease on which its holder counts.
  const untilMs = Math.max(present.row.untilMs, atMs + present.row.leaseMs);
  holders.set(host, { ...present, row: { ...present.row, untilMs } });
}

const NOBODY: StoredHolder = { agentRun: '', serviceHost: '', leaseMs: 0, untilMs: 0 };

function isSame(one: HostHolder, other: HostHolder): boolean {
  return one.agentRun === other.agentRun && one.serviceHost === other.serviceHost;
}
