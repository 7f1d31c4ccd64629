import type { QuotaExcess } from '#libs/domain/quotas/quota';
import type { RequestSpec } from '#libs/domain/request-spec';
import { groupKey, type ServerGroup } from '#libs/domain/server-group';
import type { Fleet } from './fleet';
import type { FleetSnapshot } from './fleet-snapshot';
import type { HostState } from './host-state';
import { quotaExceeded } from './quota-exceeded';

/** How many members of a server group are on each host, by index, and how many in all. */
export interface GroupMembers {
  readonly group: ServerGroup;
  readonly perHost: ReadonlyMap<number, number>;
  /** With those on hosts that the fleet does not have any more. */
  readonly count: number;
}

/**
 * A request with all that it names found in the fleet: what makes it more than one of its equivalence class. Names that
 * nobody has are left out. Immutable.
 */
export interface LocatedRequest {
  readonly spec: RequestSpec;
  /** Where the other members of the request's group are; undefined without a group. */
  readonly members: GroupMembers | undefined;
  readonly named: NamedHosts;
  readonly refusedClaims: RefusedClaims;
  /** Limits that the instances would exceed. */
  readonly quotaExceeded: readonly QuotaExcess[];
}

/** Hosts, by index, whose claim the store refused though all filters accept them; and what it said. */
export type RefusedClaims = ReadonlyMap<number, string>;

export const NO_REFUSED_CLAIMS: RefusedClaims = new Map();

/** The hosts that the spec's lists name, or that have the instances which they name. */
export type NamedHosts = Readonly<
  Record<'forceHosts' | 'ignoreHosts' | 'sameHost' | 'differentHost', readonly HostState[]>
>;

/**
 * Finds what a request names. `instanceUuids` need a host: they do not count as members of their group yet, and what they
 * are to hold counts for the quota.
 */
export function locate(
  spec: RequestSpec,
  instanceUuids: readonly string[],
  fleet: Fleet,
  snapshot: FleetSnapshot,
  refusedClaims: RefusedClaims = NO_REFUSED_CLAIMS,
): LocatedRequest {
  const found = (names: readonly string[], indexOf: (name: string) => number | undefined) =>
    names.length === 0
      ? NO_HOSTS
      : names.map((name) => snapshot.at(indexOf(name))).filter((host) => host !== undefined);
  const byHost = (name: string) => fleet.indexOfHost(name);
  const byInstance = (uuid: string) => fleet.indexOfConsumer(uuid);
  return {
    spec,
    members: spec.group && membersOf(spec.group, spec.projectId, new Set(instanceUuids), fleet),
    named: {
      forceHosts: found(spec.forceHosts, byHost),
      ignoreHosts: found(spec.ignoreHosts, byHost),
      sameHost: found(spec.sameHost, byInstance),
      differentHost: found(spec.differentHost, byInstance),
    },
    refusedClaims,
    quotaExceeded: quotaExceeded(spec, instanceUuids, fleet.view),
  };
}

/** The request with so many members of its group more, or less, on a host; the same when it has no group. */
export function withMembers(request: LocatedRequest, index: number, count: number): LocatedRequest {
  if (!request.members) return request;
  const perHost = new Map(request.members.perHost);
  const now = (perHost.get(index) ?? 0) + count;
  if (now > 0) perHost.set(index, now);
  else perHost.delete(index);
  return { ...request, members: { ...request.members, perHost, count: request.members.count + count } };
}

const NO_HOSTS: readonly HostState[] = [];

/** Counts members that hold claims or are about to, each where the store counts it. */
function membersOf(group: ServerGroup, projectId: string, except: ReadonlySet<string>, fleet: Fleet): GroupMembers {
  const perHost = new Map<number, number>();
  const counted = new Set(except);
  const add = (uuid: string, index: number | undefined) => {
    if (counted.has(uuid)) return;
    counted.add(uuid);
    if (index !== undefined) perHost.set(index, (perHost.get(index) ?? 0) + 1);
  };
  const key = groupKey(projectId, group.id);
  for (const uuid of fleet.view.groupMembers(key)) {
    add(uuid, fleet.indexOfHost(fleet.view.consumer(uuid)?.groupHost ?? ''));
  }
  for (const { consumerUuid, hostIndex } of fleet.pending.inGroup(key)) add(consumerUuid, hostIndex);
  return { group, perHost, count: counted.size - except.size };
}
