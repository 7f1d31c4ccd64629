import type { PlaceLease } from '#libs/domain/queueing/place-lease';
import type { QuotaExcess } from '#libs/domain/quotas/quota';
import type { RequestSpec } from '#libs/domain/request-spec';
import { groupKey, type ServerGroup } from '#libs/domain/server-group';
import type { Fleet } from './fleet';
import type { FleetSnapshot } from './fleet-snapshot';
import { counted, domainAt, type GroupSpread, spreadOver } from './group-spread';
import type { HostState } from './host-state';
import { nominatedHosts } from './leases/nominations';
import { quotaExceeded } from './quota-exceeded';

/** How many members of a server group are on each host, by index, and how many in all. */
export interface GroupMembers {
  readonly group: ServerGroup;
  readonly perHost: ReadonlyMap<number, number>;
  /** Over what it spreads; undefined for a group that does not. */
  readonly spread: GroupSpread | undefined;
  /** With those on hosts that the fleet does not have any more. */
  readonly count: number;
}

/**
 * A request with all that it names found in the fleet: what makes it more than one of its equivalence class. Names that
 * nobody has are left out. Immutable.
 */
export interface LocatedRequest {
  readonly spec: RequestWithRules;
  /** Where the other members of the request's group are; undefined without a group. */
  readonly members: GroupMembers | undefined;
  readonly named: NamedHosts;
  readonly refusedClaims: RefusedClaims;
  /** Limits that the instances would exceed. */
  readonly quotaExceeded: readonly QuotaExcess[];
  /** Hosts, by index, where others make room for somebody who comes first. */
  readonly nominatedHosts: ReadonlySet<number>;
}

/** A request whose group, if it names one, has its rules. */
type RequestWithRules = RequestSpec & { readonly group: ServerGroup | undefined };

/** Hosts, by index, whose claim the store refused though all filters accept them; and what it said. */
export type RefusedClaims = ReadonlyMap<number, string>;

const NO_REFUSED_CLAIMS: RefusedClaims = new Map();

/** The hosts that the spec's lists name, or that have the instances which they name. */
export type NamedHosts = Readonly<
  Record<'forceHosts' | 'ignoreHosts' | 'sameHost' | 'differentHost', readonly HostState[]>
>;

/** What most requests do not have. */
interface LocateTerms {
  readonly refusedClaims?: RefusedClaims | undefined;
  readonly isMove?: boolean;
  /** Those that come before the request. */
  readonly nominations?: readonly PlaceLease[];
}

/**
 * Finds what a request names. `instanceUuids` need a host: they do not count as members of their group yet, and what they
 * are to hold counts for the quota. `isOpen` tells the hosts where the request may go, room or not.
 */
export function locate(
  spec: RequestWithRules,
  instanceUuids: readonly string[],
  fleet: Fleet,
  snapshot: FleetSnapshot,
  isOpen: (host: HostState) => boolean,
  { refusedClaims = NO_REFUSED_CLAIMS, isMove = false, nominations = [] }: LocateTerms = {},
): LocatedRequest {
  const found = (names: readonly string[], indexOf: (name: string) => number | undefined) =>
    names.length === 0
      ? NO_HOSTS
      : names.map((name) => snapshot.at(indexOf(name))).filter((host) => host !== undefined);
  const byHost = (name: string) => fleet.indexOfHost(name);
  const byInstance = (uuid: string) => fleet.indexOfConsumer(uuid);
  return {
    spec,
    members: spec.group && membersOf(spec.group, spec.projectId, new Set(instanceUuids), fleet, snapshot, isOpen),
    named: {
      forceHosts: found(spec.forceHosts, byHost),
      ignoreHosts: found(spec.ignoreHosts, byHost),
      sameHost: found(spec.sameHost, byInstance),
      differentHost: found(spec.differentHost, byInstance),
    },
    refusedClaims,
    quotaExceeded: quotaExceeded(spec, instanceUuids, fleet.view, { isMove, nominations }),
    nominatedHosts: nominatedHosts(nominations, spec, instanceUuids.length, fleet, snapshot),
  };
}

/** The request with so many members of its group more, or less, on a host; the same when it has no group. */
export function withMembers(request: LocatedRequest, index: number, count: number): LocatedRequest {
  if (!request.members) return request;
  const perHost = new Map(request.members.perHost);
  const now = (perHost.get(index) ?? 0) + count;
  if (now > 0) perHost.set(index, now);
  else perHost.delete(index);
  const { spread } = request.members;
  const members: GroupMembers = {
    ...request.members,
    perHost,
    spread: spread && { ...spread, perDomain: counted(spread.perDomain, domainAt(spread.domains, index), count) },
    count: request.members.count + count,
  };
  return { ...request, members };
}

const NO_HOSTS: readonly HostState[] = [];

/** Counts members that hold claims or are about to, each where the store counts it. */
function membersOf(
  group: ServerGroup,
  projectId: string,
  except: ReadonlySet<string>,
  fleet: Fleet,
  snapshot: FleetSnapshot,
  isOpen: (host: HostState) => boolean,
): GroupMembers {
  const over = group.spread && spreadOver(group.spread, fleet, snapshot, isOpen);
  let perDomain: GroupSpread['perDomain'] = new Map();
  const perHost = new Map<number, number>();
  const seen = new Set(except);
  const add = (uuid: string, index: number | undefined, domain: string | undefined) => {
    if (seen.has(uuid)) return;
    seen.add(uuid);
    if (index !== undefined) perHost.set(index, (perHost.get(index) ?? 0) + 1);
    perDomain = counted(perDomain, domain, 1);
  };
  const key = groupKey(projectId, group.id);
  // One that is moved counts where it goes.
  for (const { consumerUuid, hostIndex } of fleet.pending.inGroup(key)) {
    add(consumerUuid, hostIndex, over && domainAt(over.domains, hostIndex));
  }
  for (const uuid of fleet.view.groupMembers(key)) {
    const consumer = fleet.view.consumer(uuid);
    const isCounted = consumer?.groupDomain?.by === group.spread?.by;
    add(uuid, fleet.indexOfHost(consumer?.groupHost ?? ''), isCounted ? consumer?.groupDomain?.domain : undefined);
  }
  return { group, perHost, spread: over && { ...over, perDomain }, count: seen.size - except.size };
}
