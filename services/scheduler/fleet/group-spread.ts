import { BerthError } from '#libs/domain/errors';
import type { DomainCounts, ServerGroup, Spread } from '#libs/domain/server-group';
import type { Fleet } from './fleet';
import type { FleetSnapshot } from './fleet-snapshot';
import type { HostDomains } from './host-domains';
import type { HostState } from './host-state';

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
): Pick<GroupSpread, 'spread' | 'domains' | 'among' | 'unavailable'> {
  const domains = fleet.domains(spread.by);
  const domainsWith = (isMeant: (host: HostState) => boolean) => {
    const hasHost = (indexes: ReadonlySet<number>) => {
      for (const index of indexes) {
        const host = snapshot.at(index);
        if (host && isMeant(host)) return true;
      }
      return false;
    };
    const found = [...domains.byDomain].filter(([, indexes]) => hasHost(indexes));
    return found.map(([domain]) => domain).sort();
  };
  const open = domainsWith(isOpen);
  const serving = domainsWith((host) => host.host.up && host.host.enabled && isOpen(host));
  const unavailable = open.filter((domain) => !serving.includes(domain));
  const among = spread.countUnavailable ? open : serving;
  if (among.length > MAX_DOMAINS || Buffer.byteLength(among.join()) > MAX_DOMAIN_BYTES) {
    const message = `aggregates divide the fleet into ${among.length} parts by ${spread.by}: too many to spread over`;
    throw new BerthError('failed_precondition', 'too_many_domains', message, { details: { by: spread.by } });
  }
  return { spread, domains, among, unavailable };
}

/** The counts that a domain may reach once the request is there. A member that moves there may leave again. */
export function countsIn(members: GroupMembers, domain: string, isDestination: boolean): DomainCounts {
  const { spread } = members;
  const here = membersIn(members, domain);
  const isPassing = isDestination && spread?.home !== undefined && spread.home !== domain;
  const least = here - (spread?.passing.get(domain) ?? 0) - (isPassing ? 1 : 0);
  return { most: here + (spread?.kept.get(domain) ?? 0), least };
}

/** The number of members in a domain. */
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

/** Members of a server group by host index, and in all. */
export interface GroupMembers {
  readonly group: ServerGroup;
  readonly perHost: ReadonlyMap<number, number>;
  /** Over what it spreads; undefined for a group that does not. */
  readonly spread: GroupSpread | undefined;
  /** In what it stays; undefined for a group that no domain binds. */
  readonly within: GroupWithin | undefined;
  /** With those on hosts that the fleet does not have any more. */
  readonly count: number;
  /** Places that members on a move may go back to: so many on each host, and in all. */
  readonly kept: { readonly perHost: ReadonlyMap<number, number>; readonly count: number };
}

/** In what a group stays: all domains of the fleet, and where its members are. */
export interface GroupWithin {
  /** The names that bind it, from the outside in. */
  readonly levels: readonly string[];
  readonly domains: HostDomains;
  readonly perDomain: ReadonlyMap<string, number>;
  /** Members on a move that may leave again. */
  readonly passing: ReadonlyMap<string, number>;
}

/** Over what a group spreads: all domains of the fleet, and those that members may go to. */
export interface GroupSpread {
  readonly spread: Spread;
  readonly domains: HostDomains;
  /** In order of text. */
  readonly among: readonly string[];
  /** Domains where the request could go, and no host is up and enabled. */
  readonly unavailable: readonly string[];
  readonly perDomain: ReadonlyMap<string, number>;
  /** Places that members on a move may go back to, and members that may leave again. */
  readonly kept: ReadonlyMap<string, number>;
  readonly passing: ReadonlyMap<string, number>;
  /** The domain that the request moves from, if it does. */
  readonly home: string | undefined;
}
