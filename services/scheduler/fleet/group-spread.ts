import { BerthError } from '#libs/domain/errors';
import type { Spread } from '#libs/domain/server-group';
import type { Fleet } from './fleet';
import type { FleetSnapshot } from './fleet-snapshot';
import type { HostDomains } from './host-domains';
import type { HostState } from './host-state';
import type { GroupMembers } from './located-request';

/** Over what a group spreads: all domains of the fleet, and those that members may go to. */
export interface GroupSpread {
  readonly spread: Spread;
  readonly domains: HostDomains;
  /** In order of text. */
  readonly among: readonly string[];
  readonly perDomain: ReadonlyMap<string, number>;
}

/** They travel in each allocation request. */
const MAX_DOMAINS = 256;
const MAX_DOMAIN_BYTES = 8_192;

/**
 * The domains of a fleet, and those with a host where the request may go.
 *
 * @throws BerthError `failed_precondition / too_many_domains` when there are more than a claim can carry.
 */
export function spreadOver(
  spread: Spread,
  fleet: Fleet,
  snapshot: FleetSnapshot,
  isOpen: (host: HostState) => boolean,
): Omit<GroupSpread, 'perDomain'> {
  const domains = fleet.domains(spread.by);
  const hasOpenHost = (indexes: ReadonlySet<number>) => {
    for (const index of indexes) {
      const host = snapshot.at(index);
      if (host && isOpen(host)) return true;
    }
    return false;
  };
  const among = [...domains.byDomain].filter(([, indexes]) => hasOpenHost(indexes)).map(([domain]) => domain);
  if (among.length > MAX_DOMAINS || Buffer.byteLength(among.join()) > MAX_DOMAIN_BYTES) {
    const message = `aggregates divide the fleet into ${among.length} parts by ${spread.by}: too many to spread over`;
    throw new BerthError('failed_precondition', 'too_many_domains', message, { details: { by: spread.by } });
  }
  return { spread, domains, among: among.sort() };
}

/** How many members are in a domain. */
export function membersIn({ spread }: GroupMembers, domain: string): number {
  return spread?.perDomain.get(domain) ?? 0;
}

/** The domain that a host is in. */
export function domainAt({ byDomain }: HostDomains, index: number | undefined): string | undefined {
  if (index === undefined) return undefined;
  for (const [domain, hosts] of byDomain) if (hosts.has(index)) return domain;
  return undefined;
}

/** The counts with so many members more in a domain. */
export function counted(
  perDomain: ReadonlyMap<string, number>,
  domain: string | undefined,
  count: number,
): ReadonlyMap<string, number> {
  if (domain === undefined) return perDomain;
  return new Map(perDomain).set(domain, (perDomain.get(domain) ?? 0) + count);
}
