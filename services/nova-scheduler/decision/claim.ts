import type { Allocations, Consumer } from '#libs/domain/consumer';
import { addResources } from '#libs/domain/inventory';
import type { ServerGroup as DomainGroup, GroupPolicy } from '#libs/domain/server-group';
import { RemoteError } from '#libs/oslo/remote-error';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type { ConsumerWrite, PlacementStore } from '#libs/placement/port/placement-store';
import type { Candidate } from '#libs/placement/search/query';
import { namedHosts } from '../filters/named-hosts';
import { affinityFilter, antiAffinityFilter } from '../filters/server-groups';
import type { NovaRequest } from '../request/nova-request';
import { guardedGroupId } from '../request/server-group';

/** An instance and what is to be claimed for it. */
export interface InstanceClaim {
  readonly instanceUuid: string;
  readonly candidate: Candidate;
}

/** The end of a claim. After a conflict the mirror knows what was in the way, and a new decision may find other hosts. */
export type Claimed =
  | { readonly kind: 'claimed' }
  | { readonly kind: 'conflict'; readonly refusedRoot: string | undefined };

export interface ClaimDeps {
  readonly placement: PlacementStore;
  readonly mirror: Mirror;
  readonly nowMs: () => number;
  readonly catchUpMs: number;
  /** Names of the filters in use. */
  readonly filters: readonly { readonly name: string }[];
}

/**
 * Claims for all instances of a request in one commit, as PUT /allocations of Nova's would do it one by one: consumers of Nova, guarded
 * by their generations and their anti-affinity group. What an instance holds already (an evacuated one, on its dead host) it keeps beside.
 *
 * @throws RemoteError `AllocationUpdateFailed` for an instance whose uuid is that of an instance of Berth
 */
export async function claimAll(
  claims: readonly InstanceClaim[],
  request: NovaRequest,
  deps: ClaimDeps,
): Promise<Claimed> {
  const { placement, mirror } = deps;
  const guards = guardedGroup(request, deps.filters);
  const consumers = claims.map(({ instanceUuid, candidate }) => ({
    ...consumerWrite(instanceUuid, candidate, request, mirror.consumer(instanceUuid)),
    ...(guards && { group: { group: guards, host: candidate.rootUuid } }),
  }));
  const result = await placement.commit({ kind: 'write_allocations', consumers, atMs: deps.nowMs() });
  switch (result.kind) {
    case 'committed':
      mirror.apply(result.change);
      return { kind: 'claimed' };
    case 'unchanged':
      return { kind: 'claimed' };
    case 'owner':
      throw updateFailed(result.uuid, 'an instance of Berth has this uuid');
    case 'group':
      await mirror.waitFor(await placement.revision(), { timeoutMs: deps.catchUpMs });
      return { kind: 'conflict', refusedRoot: result.host };
    case 'capacity':
      mirror.applyRows({ usages: [result.usage] });
      return { kind: 'conflict', refusedRoot: undefined };
    case 'nominated':
    case 'reserved':
      return { kind: 'conflict', refusedRoot: mirror.provider(result.providerUuid)?.rootUuid };
    default:
      await mirror.waitFor(await placement.revision(), { timeoutMs: deps.catchUpMs });
      return { kind: 'conflict', refusedRoot: undefined };
  }
}

const FILTER_OF = new Map([
  ['affinity', affinityFilter.name],
  ['anti-affinity', antiAffinityFilter.name],
]);

/**
 * The group that the commit guards, so that schedulers at once put no more members of an anti-affinity group on a host than it may have,
 * and begin an affinity group on one host only. It counts members by claims of Berth; the filters know the others, too. An affinity group
 * that Nova knows somewhere is counted only: its filter allows those hosts alone. Forced hosts are not filtered, so not guarded.
 */
function guardedGroup(request: NovaRequest, filters: ClaimDeps['filters']): DomainGroup | undefined {
  const { group } = request;
  const filter = FILTER_OF.get(group?.policy ?? '');
  if (group === undefined || group.uuid === '' || namedHosts(request).skipsFilters) return undefined;
  if (!filters.some(({ name }) => name === filter)) return undefined;
  const isBegun = group.policy === 'affinity' && group.hosts.size > 0;
  const policy = isBegun ? 'soft-affinity' : (group.policy as GroupPolicy);
  return { id: guardedGroupId(group), policy, maxPerHost: group.maxServerPerHost };
}

function consumerWrite(
  uuid: string,
  { allocations, mappings }: Candidate,
  { projectId, userId }: NovaRequest,
  present: Consumer | undefined,
): ConsumerWrite {
  return {
    uuid,
    projectId,
    userId,
    // Placement's form before microversion 1.38, which stock schedulers speak, has no type.
    consumerType: present?.consumerType,
    owner: 'api',
    allocations: present === undefined ? allocations : mergedAllocations(present.allocations, allocations),
    mappings,
    expect: present === undefined ? { kind: 'absent' } : { kind: 'generation', generation: present.generation },
  };
}

/** An instance's allocations with further ones beside them. */
export function mergedAllocations(held: Allocations, more: Allocations): Allocations {
  const all: Record<string, Allocations[string]> = { ...held };
  for (const [uuid, resources] of Object.entries(more)) all[uuid] = addResources(all[uuid] ?? {}, resources);
  return all;
}

function updateFailed(uuid: string, error: string): RemoteError {
  const message = `Failed to update allocations for consumer ${uuid}. Error: ${error}`;
  return new RemoteError('AllocationUpdateFailed', 'nova.exception', message, {
    consumer_uuid: uuid,
    error,
    code: 500,
  });
}

/** JSON of a way to claim, as Nova's conductor sends it to PUT /allocations for an alternate. */
export function allocationRequestOf({ allocations, mappings }: Candidate): string {
  const byProvider = Object.entries(allocations).map(([uuid, resources]) => [uuid, { resources }]);
  return JSON.stringify({ allocations: Object.fromEntries(byProvider) as object, mappings });
}
