import type { Consumer } from '../../../domain/consumer';
import type { Resources } from '../../../domain/inventory';
import { type Holding, keptFrom, type ReservedRoom, unusedOf } from '../../../domain/queueing/reservation';
import type { ConsumerWrite, RefusedCommit } from '../../port/placement-store';
import { isReservedRoom, reservedKey } from '../tables';
import type { Draft } from './draft';

const NOTHING: Resources = {};

/** Amounts of a provider that reservations keep from a conductor's claim, by class. */
export function reservedFrom(draft: Draft, providerUuid: string, write: ConsumerWrite): Resources {
  const rooms = Object.values(draft.read('nomination', providerUuid) ?? {}).filter(isReservedRoom);
  if (rooms.length === 0) return NOTHING;
  const { atMs, besides = [] } = draft.terms;
  // The consumers of the claim itself give back theirs.
  const others = besides.filter((uuid) => !draft.own.has(uuid)).map((uuid) => draft.read('consumer', uuid));
  const holdings = holdingsOn(
    providerUuid,
    others.filter((one) => one !== undefined),
  );
  return keptFrom({ ...write, startsAtMs: atMs }, rooms, holdings, atMs);
}

/**
 * Notes a conductor's claim in an open reservation among its users on a provider. Refused when it is a new one and its own units there
 * lack the room.
 *
 * The naive way is to count the users that a scheduler names: two that claim at once through two schedulers know nothing of each
 * other, and both get the last unit. Here each claim writes itself into the row of what is kept there, so that of two at once one
 * is decided again, on that row. Who is noted and gone, or elsewhere, uses nothing: releases need not look for reservations. It
 * costs a read of each user, of which a reservation has few on a host. What holds a claim already, and moves, may come to a host
 * with no unit left for it.
 */
export function joinReservation(draft: Draft, providerUuid: string, write: ConsumerWrite): RefusedCommit | undefined {
  const { reservation: name, projectId, owner, uuid } = write;
  if (name === undefined || owner !== 'conductor') return undefined;
  const { atMs, force } = draft.terms;
  const key = reservedKey(name);
  const room = draft.keptOn(providerUuid)?.[key];
  if (!room || !isReservedRoom(room) || room.projectId !== projectId) return undefined;
  if (atMs < room.fromMs || atMs >= room.untilMs) return undefined;
  const noted = (room.users ?? []).filter((one) => one !== uuid);
  const holds = (one: string) => holdingsOn(providerUuid, present(draft, one));
  const users = noted.filter((one) => holds(one).length > 0 || draft.own.has(one));
  draft.keep(providerUuid, key, { ...room, users: [...users, uuid] });
  if (force || draft.read('consumer', uuid) !== undefined) return undefined;
  return refusalOfUnits(
    room,
    { providerUuid, resources: write.allocations[providerUuid] ?? NOTHING },
    users.flatMap(holds),
  );
}

function refusalOfUnits(
  room: ReservedRoom,
  { providerUuid, resources }: { readonly providerUuid: string; readonly resources: Resources },
  holdings: readonly Holding[],
): RefusedCommit | undefined {
  const unused = unusedOf(room, holdings);
  const full = Object.entries(resources).find(([name, amount]) => amount > (unused[name] ?? amount));
  return full && { kind: 'reserved', providerUuid, resourceClass: full[0] };
}

function present(draft: Draft, uuid: string): readonly Consumer[] {
  const consumer = draft.read('consumer', uuid);
  return consumer ? [consumer] : [];
}

/** Holdings of consumers on a provider. */
export function holdingsOn(providerUuid: string, consumers: readonly Consumer[]): readonly Holding[] {
  return consumers.flatMap(({ allocations, projectId, reservation, endsAtMs, updatedAtMs: sinceMs }) => {
    const resources = allocations[providerUuid];
    return resources ? [{ projectId, reservation, sinceMs, endsAtMs, resources }] : [];
  });
}
