import { timeText } from '#libs/domain/clock';
import { isClaimOf } from '#libs/domain/consumer';
import type { Resources } from '#libs/domain/inventory';
import {
  type ComingUse,
  keptFrom,
  type Reservation,
  type ReservedRoom,
  type ReservedUnits,
  reservedRooms,
  unusedOf,
} from '#libs/domain/queueing/reservation';
import type { SelectRequest } from '../decision/complete-request';
import type { Fleet } from '../fleet/fleet';
import type { FleetSnapshot } from '../fleet/fleet-snapshot';
import { freeOn } from '../fleet/host-state';
import type { WithinReservation } from '../fleet/located-request';
import { holdings, roomsByProvider } from './holdings';

/** The fleet as reservations leave it for a request, and the hosts where one that names a reservation may go. */
export interface ReservedFleet {
  readonly snapshot: FleetSnapshot;
  readonly within: WithinReservation | undefined;
}

/** The part of a request that reservations look at. */
export type ReservedRequest = Pick<SelectRequest, 'instanceUuids' | 'endsAtMs' | 'window'> & {
  readonly spec: Pick<SelectRequest['spec'], 'projectId' | 'reservation'>;
};

/**
 * Leaves out of a snapshot what reservations keep from a request, by the rule of the store (`keptFrom`), so that filters, the
 * candidate search and the picks of several instances count on the rest alone. In a reservation, a request has what its
 * instances do not use yet; one that holds a claim and moves goes anywhere, as a dead host's units may have no place.
 */
export function besideReservations(
  request: ReservedRequest,
  nowMs: number,
  fleet: Fleet,
  snapshot: FleetSnapshot,
): ReservedFleet {
  const { spec, endsAtMs, window } = request;
  const all = fleet.view.reservations();
  if (all.length === 0 && spec.reservation === undefined && !window) return { snapshot, within: undefined };
  const live = all.filter(({ untilMs }) => untilMs > nowMs);
  const use = window ?? { projectId: spec.projectId, reservation: spec.reservation, startsAtMs: nowMs, endsAtMs };
  const own = new Set(request.instanceUuids);
  let seen = snapshot;
  const rooms = roomsByProvider(all);
  for (const uuid of new Set([...rooms.keys(), ...(window?.endingOn ?? NOBODY)])) {
    const here = rooms.get(uuid) ?? [];
    const kept = keptFrom(use, here, holdings(uuid, fleet.view, own), nowMs);
    if (Object.values(kept).some((amount) => amount !== 0)) {
      seen = keep({ uuid, amounts: kept, by: textOf(here) }, fleet, seen);
    }
  }
  if (
    window ||
    spec.reservation === undefined ||
    request.instanceUuids.some((uuid) => isPlaced(uuid, request, fleet))
  ) {
    return { snapshot: seen, within: undefined };
  }
  return withinIts(spec.reservation, { live, use, nowMs, own }, fleet, seen);
}

/** The fleet with units of a reservation as held: the part that its instances do not use. */
export function withUnits(reservation: ReservedUnits, fleet: Fleet, snapshot: FleetSnapshot): FleetSnapshot {
  let seen = snapshot;
  for (const [uuid, room] of reservedRooms(reservation)) {
    const unused = unusedOf(room, holdings(uuid, fleet.view, NOBODY));
    seen = keep({ uuid, amounts: unused, by: textOf([room]) }, fleet, seen);
  }
  return seen;
}

const NOBODY: ReadonlySet<string> = new Set();

interface Asked {
  readonly live: readonly Reservation[];
  readonly use: ComingUse;
  readonly nowMs: number;
  readonly own: ReadonlySet<string>;
}

function withinIts(
  name: string,
  { live, use, nowMs, own }: Asked,
  fleet: Fleet,
  snapshot: FleetSnapshot,
): ReservedFleet {
  const found = live.find((one) => one.name === name && one.projectId === use.projectId);
  const nowhere = (symbol: WithinReservation['symbol'], why: string): ReservedFleet => {
    return { snapshot, within: { hosts: new Set(), symbol, why } };
  };
  if (!found) return nowhere('no_such_reservation', `the project has no reservation '${name}'`);
  if (found.fromMs > nowMs) {
    return nowhere('reservation_not_open', `the window of '${name}' begins at ${timeText(found.fromMs)}`);
  }
  let seen = snapshot;
  const hosts = new Set<number>();
  for (const [uuid, room] of reservedRooms(found)) {
    const index = fleet.indexOfAllocations({ [uuid]: room.resources });
    const host = seen.at(index);
    if (index === undefined || !host) continue;
    hosts.add(index);
    // Claims on their way may be of the reservation.
    const onTheWay = fleet.pending.usedOn(uuid) ?? {};
    const unused = unusedOf(room, holdings(uuid, fleet.view, own));
    const beyond = Object.entries(unused).map(([resourceClass, amount]) => {
      const left = Math.max(0, amount - (onTheWay[resourceClass] ?? 0));
      return [resourceClass, Math.max(0, freeOn(host, uuid, resourceClass) - left)] as const;
    });
    seen = keep({ uuid, amounts: Object.fromEntries(beyond), by: `as not of '${name}'` }, fleet, seen);
  }
  return { snapshot: seen, within: { hosts, symbol: 'not_reserved', why: `'${name}' has no unit here` } };
}

interface Kept {
  readonly uuid: string;
  readonly amounts: Resources;
  readonly by: string;
}

function keep({ uuid, amounts, by }: Kept, fleet: Fleet, snapshot: FleetSnapshot): FleetSnapshot {
  const hostIndex = fleet.indexOfAllocations({ [uuid]: amounts });
  const host = snapshot.at(hostIndex);
  if (hostIndex === undefined || !host) return snapshot;
  const claim = { consumerUuid: '', hostIndex, rootUuid: host.root.uuid, allocations: { [uuid]: amounts } };
  return snapshot.keep({ ...claim, group: undefined }, by);
}

function isPlaced(uuid: string, { spec }: ReservedRequest, { view }: Fleet): boolean {
  return isClaimOf(spec, view.consumer(uuid));
}

function textOf(rooms: readonly ReservedRoom[]): string {
  return rooms.map(({ reservation, fromMs }) => `by '${reservation}' from ${timeText(fromMs)}`).join(' and ');
}
