import { type Allocations, isClaimOf } from '#libs/domain/consumer';
import { RESERVATION_CONSUMER, reservationUuidOf } from '#libs/domain/queueing/place-lease';
import type { RankedHost } from '#services/scheduler/ranking/ranked-host';
import type { Fleet } from '../../fleet/fleet';
import type { FleetSnapshot } from '../../fleet/fleet-snapshot';
import type { PendingClaim } from '../../fleet/pending-claims';
import type { SelectRequest } from '../complete-request';

/** The fleet as it is for instances that are decided again: what is reserved for their own alternates is theirs to take. */
export function withoutReservations(
  { alternatesHeld, instanceUuids, spec }: Pick<SelectRequest, 'alternatesHeld' | 'instanceUuids' | 'spec'>,
  fleet: Fleet,
  snapshot: FleetSnapshot,
): FleetSnapshot {
  if (alternatesHeld !== 'reserved') return snapshot;
  let seen = snapshot;
  for (const consumerUuid of instanceUuids.map(reservationUuidOf)) {
    const held = fleet.view.consumer(consumerUuid);
    if (!isClaimOf(spec, held, RESERVATION_CONSUMER)) continue;
    for (const claim of claimsByHost(consumerUuid, held.allocations, fleet, seen)) seen = seen.without(claim);
  }
  return seen;
}

/**
 * The fleet as it is for a move that is yet to be claimed: on its own host what the instance holds is its own to use, for in
 * place one copy goes on, and only what it needs more is taken.
 */
export function withoutItsOwn(
  { move, instanceUuids: [uuid = ''] }: Pick<SelectRequest, 'move' | 'instanceUuids'>,
  fleet: Fleet,
  snapshot: FleetSnapshot,
): FleetSnapshot {
  const held = move && fleet.view.consumer(uuid);
  const hostIndex = held && fleet.indexOfAllocations(held.allocations);
  const host = snapshot.at(hostIndex);
  if (!held || hostIndex === undefined || !host || held.claimToken !== move.claimToken) return snapshot;
  const { allocations } = held;
  return snapshot.withoutOwn({
    consumerUuid: uuid,
    hostIndex,
    rootUuid: host.root.uuid,
    allocations,
    group: undefined,
  });
}

/** The fleet once alternates are reserved. */
export function withReserved(alternates: readonly RankedHost[], snapshot: FleetSnapshot): FleetSnapshot {
  return alternates.reduce((seen, { host: { index: hostIndex }, candidate: { rootUuid, allocations } }) => {
    return seen.assume({ consumerUuid: '', hostIndex, rootUuid, allocations, group: undefined });
  }, snapshot);
}

/** A consumer's holdings on several hosts, as one claim a host; shares of sharing providers go with one of them. */
function claimsByHost(
  consumerUuid: string,
  allocations: Allocations,
  fleet: Fleet,
  snapshot: FleetSnapshot,
): readonly PendingClaim[] {
  const parts = new Map<number, Record<string, Allocations[string]>>();
  const shared: Record<string, Allocations[string]> = {};
  for (const [uuid, resources] of Object.entries(allocations)) {
    const index = fleet.indexOfAllocations({ [uuid]: resources });
    if (index === undefined) shared[uuid] = resources;
    else parts.set(index, { ...parts.get(index), [uuid]: resources });
  }
  return [...parts].flatMap(([hostIndex, own], n) => {
    const host = snapshot.at(hostIndex);
    const all = n === 0 ? { ...own, ...shared } : own;
    return host ? [{ consumerUuid, hostIndex, rootUuid: host.root.uuid, allocations: all, group: undefined }] : [];
  });
}
