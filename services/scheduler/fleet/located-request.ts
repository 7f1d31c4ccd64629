import type { Consumer } from '#libs/domain/consumer';
import type { Resources } from '#libs/domain/inventory';
import { instanceOfConsumer } from '#libs/domain/moves/migration';
import type { PlaceLease } from '#libs/domain/queueing/place-lease';
import type { QuotaExcess } from '#libs/domain/quotas/quota';
import type { RequestSpec } from '#libs/domain/request-spec';
import { bindingLevels, countedBy, groupKey, type ServerGroup } from '#libs/domain/server-group';
import type { Fleet } from './fleet';
import type { FleetSnapshot } from './fleet-snapshot';
import { counted, domainAt, type GroupMembers, spreadOver } from './group-spread';
import type { HostState } from './host-state';
import { nominatedHosts } from './leases/nominations';
import { quotaExceeded } from './quota-exceeded';

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
  /** Those that did not confirm a selection. */
  readonly unconfirmed: RefusedClaims;
  /** Those whose claim a guarantee refuses. */
  readonly unguarded: RefusedClaims;
  /** Limits that the instances would exceed. */
  readonly quotaExceeded: readonly QuotaExcess[];
  /** Hosts, by index, where others make room for somebody who comes first. */
  readonly nominatedHosts: ReadonlySet<number>;
  /** The host that a move leaves. */
  readonly leaves?: string | undefined;
  /** The domain in which a gang is tried. */
  readonly chosenDomain?: ChosenDomain | undefined;
  /** Where a request in a reservation may go. */
  readonly within?: WithinReservation | undefined;
}

/** Hosts, by index, on which a reservation has units; none, and why, while it has no open window. */
export interface WithinReservation {
  readonly hosts: ReadonlySet<number>;
  readonly symbol: 'not_reserved' | 'reservation_not_open' | 'no_such_reservation';
  readonly why: string;
}

/** A domain by its levels, from the outside in. */
export interface DomainName {
  readonly levels: readonly string[];
  readonly domain: string;
}

interface ChosenDomain extends DomainName {
  readonly hosts: ReadonlySet<number>;
}

/** A request whose group, if it names one, has its rules. */
type RequestWithRules = RequestSpec & { readonly group: ServerGroup | undefined };

/** Hosts, by index, whose claim the store refused though all filters accept them; and what it said. */
export type RefusedClaims = ReadonlyMap<number, string>;

const NO_REFUSED_CLAIMS: RefusedClaims = new Map();

/** The hosts that the spec's lists name, or that have the instances of its project which they name. */
export type NamedHosts = Readonly<
  Record<'forceHosts' | 'ignoreHosts' | 'sameHost' | 'differentHost', readonly HostState[]>
>;

/** The fleet in which a request's names are found. */
interface LocateAmong {
  readonly fleet: Fleet;
  readonly snapshot: FleetSnapshot;
  /** True for hosts where the request may go, room or not. */
  readonly isOpen: (host: HostState) => boolean;
}

/** Rare terms of a request. */
interface LocateTerms {
  readonly refusedClaims?: RefusedClaims | undefined;
  readonly unconfirmed?: RefusedClaims | undefined;
  readonly unguarded?: RefusedClaims | undefined;
  readonly isMove?: boolean;
  /** Those that come before the request. */
  readonly nominations?: readonly PlaceLease[];
  /** Members of an affinity group that leave their host together: they do not hold one another back. */
  readonly together?: ReadonlySet<string> | undefined;
  /** The host that a move leaves. */
  readonly leaves?: string | undefined;
  /** Amounts that others of its gang are about to take: they count in the quota. */
  readonly besides?: Resources | undefined;
  /** The only domain that counts. */
  readonly inDomain?: DomainName | undefined;
  readonly within?: WithinReservation | undefined;
  /** True for what counts in no quota. */
  readonly hasNoQuota?: boolean;
}

/**
 * Finds what a request names. `instanceUuids` need a host: they do not count as members of their group yet, and what they
 * are to hold counts for the quota.
 */
export function locate(
  spec: RequestWithRules,
  instanceUuids: readonly string[],
  among: LocateAmong,
  {
    refusedClaims = NO_REFUSED_CLAIMS,
    unconfirmed = NO_REFUSED_CLAIMS,
    unguarded = NO_REFUSED_CLAIMS,
    isMove = false,
    nominations = [],
    together,
    leaves,
    besides,
    inDomain,
    within,
    hasNoQuota = false,
  }: LocateTerms = {},
): LocatedRequest {
  const { fleet, snapshot } = among;
  const found = (names: readonly string[], indexOf: (name: string) => number | undefined) =>
    names.length === 0
      ? NO_HOSTS
      : names.map((name) => snapshot.at(indexOf(name))).filter((host) => host !== undefined);
  const byHost = (name: string) => fleet.indexOfHost(name);
  // Another project's instance is as unknown as one that is not there: where it is, its project alone may learn.
  const byInstance = (uuid: string) => {
    return fleet.view.consumer(uuid)?.projectId === spec.projectId ? fleet.indexOfConsumer(uuid) : undefined;
  };
  return {
    spec,
    members: spec.group && membersOf(spec.group, { projectId: spec.projectId, instanceUuids, together, isMove }, among),
    named: {
      forceHosts: found(spec.forceHosts, byHost),
      ignoreHosts: found(spec.ignoreHosts, byHost),
      sameHost: found(spec.sameHost, byInstance),
      differentHost: found(spec.differentHost, byInstance),
    },
    refusedClaims,
    unconfirmed,
    unguarded,
    quotaExceeded: hasNoQuota ? [] : quotaExceeded(spec, instanceUuids, fleet.view, { nominations, besides }),
    within,
    leaves,
    chosenDomain: inDomain && { ...inDomain, hosts: hostsIn(inDomain, fleet) },
    nominatedHosts: nominatedHosts(nominations, spec, instanceUuids.length, among),
  };
}

function hostsIn({ levels, domain }: DomainName, fleet: Fleet): ReadonlySet<number> {
  return fleet.domains(...levels).byDomain.get(domain) ?? new Set();
}

/** The request with so many members of its group more, or less, on a host; the same when it has no group. */
export function withMembers(request: LocatedRequest, index: number, count: number): LocatedRequest {
  if (!request.members) return request;
  const perHost = new Map(request.members.perHost);
  const now = (perHost.get(index) ?? 0) + count;
  if (now > 0) perHost.set(index, now);
  else perHost.delete(index);
  const { spread, within } = request.members;
  const members: GroupMembers = {
    ...request.members,
    perHost,
    spread: spread && { ...spread, perDomain: counted(spread.perDomain, domainAt(spread.domains, index), count) },
    within: within && { ...within, perDomain: counted(within.perDomain, domainAt(within.domains, index), count) },
    count: request.members.count + count,
  };
  return { ...request, members };
}

const NO_HOSTS: readonly HostState[] = [];

interface MembersFor extends Pick<LocateTerms, 'together' | 'isMove'> {
  readonly projectId: string;
  readonly instanceUuids: readonly string[];
}

/**
 * Counts members that hold claims or are about to, each where the store counts it. One that is moved counts where it goes, and so does
 * the place that it leaves.
 */
function membersOf(
  group: ServerGroup,
  { projectId, instanceUuids, together = NOBODY, isMove = false }: MembersFor,
  { fleet, snapshot, isOpen }: LocateAmong,
): GroupMembers {
  const over = group.spread && spreadOver(group.spread, fleet, snapshot, isOpen);
  const levels = bindingLevels(group);
  const domains = over?.domains ?? (levels && fleet.domains(...levels));
  const by = countedBy(group);
  const { view } = fleet;
  const key = groupKey(projectId, group.id);
  const except = new Set(instanceUuids);
  const seen = new Set(except);
  const members = new PlaceCounts();
  const kept = new PlaceCounts();
  const passing = new PlaceCounts();
  const domainOfConsumer = (consumer: Consumer | undefined) =>
    consumer?.groupDomain?.by === by ? consumer?.groupDomain?.domain : undefined;
  const keep = (consumer: Consumer, movedTo: string | undefined) => {
    const domain = domainOfConsumer(consumer);
    const isCertain = domain === undefined || domain === movedTo;
    kept.add(fleet.indexOfHost(consumer.groupHost ?? ''), isCertain ? undefined : domain);
    if (!isCertain && movedTo) passing.add(undefined, movedTo);
  };
  const isOfThis = (uuid: string) => except.has(uuid) || together.has(uuid);
  for (const { consumerUuid, hostIndex } of fleet.pending.inGroup(key)) {
    if (seen.has(consumerUuid)) continue;
    seen.add(consumerUuid);
    const domain = domains && domainAt(domains, hostIndex);
    members.add(hostIndex, domain);
    const present = view.consumer(consumerUuid);
    const leaves = present?.groupId === group.id && fleet.indexOfHost(present.groupHost ?? '') !== hostIndex;
    if (leaves && !isOfThis(consumerUuid)) keep(present, domain);
  }
  for (const uuid of view.groupMembers(key)) {
    if (seen.has(uuid) || together.has(uuid)) continue;
    seen.add(uuid);
    const consumer = view.consumer(uuid);
    members.add(fleet.indexOfHost(consumer?.groupHost ?? ''), domainOfConsumer(consumer));
  }
  for (const uuid of view.keptPlaces(key)) {
    const consumer = view.consumer(uuid);
    if (consumer && !isOfThis(instanceOfConsumer(consumer))) keep(consumer, consumer.groupKept?.movedTo);
  }
  const home = isMove ? domainOfConsumer(view.consumer(instanceUuids[0] ?? '')) : undefined;
  const spread = over && { ...over, perDomain: members.perDomain, home };
  return {
    group,
    perHost: members.perHost,
    spread: spread && { ...spread, kept: kept.perDomain, passing: passing.perDomain },
    within: levels && domains && { levels, domains, perDomain: members.perDomain, passing: passing.perDomain },
    count: members.count,
    kept: { perHost: kept.perHost, count: kept.count },
  };
}

const NOBODY: ReadonlySet<string> = new Set();

/** Counts by host and by domain. */
class PlaceCounts {
  readonly perHost = new Map<number, number>();
  readonly perDomain = new Map<string, number>();
  count = 0;

  add(hostIndex: number | undefined, domain: string | undefined): void {
    this.count += 1;
    if (hostIndex !== undefined) this.perHost.set(hostIndex, (this.perHost.get(hostIndex) ?? 0) + 1);
    if (domain !== undefined) this.perDomain.set(domain, (this.perDomain.get(domain) ?? 0) + 1);
  }
}
