import type { LeasedPlace } from '#libs/domain/queueing/place-lease';
import { reservedRooms } from '#libs/domain/queueing/reservation';
import type { RequestSpec } from '#libs/domain/request-spec';
import { groupKey } from '#libs/domain/server-group';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type { CommitResult } from '#libs/placement/port/placement-store';
import type { PickedHost } from './pick-hosts';

/** A claim that the store refused, though filters had accepted the host. */
export type ClaimConflict = Extract<
  CommitResult,
  { kind: 'capacity' | 'nominated' | 'reserved' | 'group' | 'generation' | 'not_found' }
>;

/** The part of the mirror that shows whether a decision was stale. */
export type ConflictMirror = Pick<
  Mirror,
  | 'revision'
  | 'provider'
  | 'consumer'
  | 'consumersOn'
  | 'groupMembers'
  | 'hasResourceClass'
  | 'nominations'
  | 'reservations'
  | 'isReserved'
>;

/**
 * True if the rows of the refusal were written after the decision's revision, so that deciding again can succeed. False
 * if filters and store contradict each other: another decision would end the same. The mirror has caught up with the
 * store.
 */
export function wasStale(
  conflict: ClaimConflict,
  decidedAtRevision: number,
  { projectId, group }: Pick<RequestSpec, 'projectId' | 'group'>,
  mirror: ConflictMirror,
): boolean {
  const isNewer = (row: { readonly revision: number } | undefined) => (row?.revision ?? -1) > decidedAtRevision;
  switch (conflict.kind) {
    case 'capacity':
      return isNewer(conflict.usage) || isNewer(mirror.provider(conflict.providerUuid));
    case 'nominated': {
      const isThere = (place: LeasedPlace) => conflict.providerUuid in place.allocations;
      return mirror.nominations().some((one) => isNewer(one) && one.places.some(isThere));
    }
    case 'reserved': {
      const { providerUuid } = conflict;
      const isThere = mirror.reservations().some((one) => isNewer(one) && reservedRooms(one).has(providerUuid));
      if (isThere || isNewer(mirror.provider(providerUuid))) return true;
      return [...mirror.consumersOn(providerUuid)].some((uuid) => isNewer(mirror.consumer(uuid)));
    }
    case 'generation':
      return conflict.present === undefined
        ? mirror.consumer(conflict.uuid) === undefined
        : isNewer(mirror.consumer(conflict.uuid));
    case 'group': {
      const members = group ? mirror.groupMembers(groupKey(projectId, group.id)) : [];
      // A member that left a spread group skewed the others, and the mirror shows it no longer.
      const mayHaveLeft = group?.spread !== undefined && mirror.revision > decidedAtRevision;
      return mayHaveLeft || [...members].some((uuid) => isNewer(mirror.consumer(uuid)));
    }
    case 'not_found': {
      if (conflict.subject === 'resource_class') return !mirror.hasResourceClass(conflict.key);
      const [uuid = '', resourceClass] = conflict.key.split(' ');
      const provider = mirror.provider(uuid);
      return !provider || (resourceClass !== undefined && !provider.inventories[resourceClass]);
    }
  }
}

/** The hosts that a refusal is about, by their index, and the refusal in words. */
export function refusedHosts(conflict: ClaimConflict, picks: readonly PickedHost[]): ReadonlyMap<number, string> {
  const [isMeant, why] = subjectOf(conflict);
  return new Map(picks.filter(isMeant).map(({ host: { index } }) => [index, why]));
}

function subjectOf(conflict: ClaimConflict): readonly [isMeant: (pick: PickedHost) => boolean, why: string] {
  switch (conflict.kind) {
    case 'capacity': {
      const { providerUuid, resourceClass, refusal } = conflict;
      return [({ candidate }) => providerUuid in candidate.allocations, `${resourceClass}: ${refusal}`];
    }
    case 'nominated':
    case 'reserved': {
      const { kind, providerUuid, resourceClass } = conflict;
      return [({ candidate }) => providerUuid in candidate.allocations, `${resourceClass}: ${kind}`];
    }
    case 'group':
      return [({ host: { host } }) => host.name === conflict.host, `group ${conflict.groupId}`];
    case 'generation':
      return [({ instanceUuid }) => instanceUuid === conflict.uuid, `consumer ${conflict.uuid} is another`];
    case 'not_found': {
      const { subject, key } = conflict;
      const [uuid = ''] = key.split(' ');
      return [({ candidate }) => subject === 'resource_class' || uuid in candidate.allocations, `no ${subject} ${key}`];
    }
  }
}
