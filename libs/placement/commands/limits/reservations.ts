import type { Consumer } from '../../../domain/consumer';
import {
  isUseOf,
  MAX_RESERVATIONS,
  mostBeside,
  type Reservation,
  type ReservedRoom,
  reservedRooms,
} from '../../../domain/queueing/reservation';
import type { DeleteReservation, WriteReservation } from '../../port/placement-store';
import { holdingsOn } from '../claims/reserved-room';
import { counters, isReservedRoom, type KeptRoom, reservedKey } from '../tables';
import type { Decided, Timed, Transaction } from '../transaction';

/**
 * Sets a reservation whose units fit where they are: on each provider at its start, and at the start of each window of others
 * that begins in it. A unit that stays where it was is not checked again. Refused as `full` when there are as many as may be.
 */
export async function writeReservation(
  tx: Transaction,
  { reservation, replaces, besides = [], atMs }: Timed<WriteReservation>,
): Decided {
  const { name } = reservation;
  const [present] = await tx.getStored('reservation', [name]);
  if (present && present.revision !== replaces) return { kind: 'exists', subject: 'reservation', key: name };
  if (!present && replaces !== undefined) return { kind: 'not_found', subject: 'reservation', key: name };
  if (!present) {
    if ((await tx.count(counters.reservations)) >= MAX_RESERVATIONS) {
      return { kind: 'full', subject: 'reservation', most: MAX_RESERVATIONS };
    }
    tx.write({ kind: 'count', name: counters.reservations, by: 1 });
  }
  const row = { ...reservation, updatedAtMs: atMs };
  const before = present ? reservedRooms(present.row) : NO_ROOMS;
  const consumers = (await tx.getAll('consumer', [...new Set(besides)])).filter((one) => one !== undefined);
  const after = withUsers(reservedRooms(row), consumers);
  const kept = await keepRooms(tx, name, { before, after, atMs });
  const providers = [...after.keys()];
  const inventories = (await tx.getAll('provider', providers)).map((provider) => provider?.inventories);
  for (const [n, uuid] of providers.entries()) {
    const room = after.get(uuid) as ReservedRoom;
    if (isPartOf(room, before.get(uuid))) continue;
    const rooms = Object.values(kept.get(uuid) ?? {}).filter(isReservedRoom);
    const beside = { inventories: inventories[n] ?? {}, rooms, holdings: holdingsOn(uuid, consumers) };
    for (const [resourceClass, most] of mostBeside(room, beside, atMs)) {
      const refusal = { kind: 'reserved', providerUuid: uuid, resourceClass } as const;
      tx.guards.push({ kind: 'amount', table: 'usage', key: uuid, name: resourceClass, most, refusal: () => refusal });
    }
  }
  tx.put('reservation', name, row);
  return undefined;
}

/** Ends a reservation. */
export async function deleteReservation(tx: Transaction, { name, endedAtMs, atMs }: Timed<DeleteReservation>): Decided {
  const present = await tx.get('reservation', name);
  if (!present) return { kind: 'not_found', subject: 'reservation', key: name };
  if (endedAtMs !== undefined && present.untilMs > endedAtMs) return { kind: 'unchanged' };
  await keepRooms(tx, name, { before: reservedRooms(present), after: NO_ROOMS, atMs });
  tx.write({ kind: 'delete', table: 'reservation', key: name }, { kind: 'count', name: counters.reservations, by: -1 });
  return undefined;
}

const NO_ROOMS: ReadonlyMap<string, ReservedRoom> = new Map();

/** Rooms with those who use them already, as of a unit that comes to where its reservation had one. */
function withUsers(
  rooms: ReadonlyMap<string, ReservedRoom>,
  consumers: readonly Consumer[],
): Map<string, ReservedRoom> {
  const isUser = (room: ReservedRoom, uuid: string, { allocations, updatedAtMs: sinceMs, ...one }: Consumer) =>
    uuid in allocations && isUseOf(room, { ...one, sinceMs });
  return new Map(
    [...rooms].map(([uuid, room]) => {
      const users = consumers.filter((one) => isUser(room, uuid, one)).map((one) => one.uuid);
      return [uuid, users.length > 0 ? { ...room, users } : room];
    }),
  );
}

/** True when no more is reserved of a provider than before, for no longer. */
function isPartOf(room: ReservedRoom, before: ReservedRoom | undefined): boolean {
  if (!before || room.fromMs < before.fromMs || room.untilMs > before.untilMs) return false;
  return Object.entries(room.resources).every(([name, amount]) => amount <= (before.resources[name] ?? 0));
}

/** A room with the users that claims have noted in it, too. */
function withNoted(room: ReservedRoom, noted: KeptRoom[string] | undefined): ReservedRoom {
  const before = noted && isReservedRoom(noted) ? (noted.users ?? []) : [];
  const users = [...new Set([...before, ...(room.users ?? [])])];
  return users.length > 0 ? { ...room, users } : room;
}

interface Rooms {
  readonly before: ReadonlyMap<string, ReservedRoom>;
  readonly after: ReadonlyMap<string, ReservedRoom>;
  readonly atMs: number;
}

/** Keeps what is reserved beside each provider, where a claim finds it without reading reservations; all that is kept there then. */
async function keepRooms(
  tx: Transaction,
  name: Reservation['name'],
  { before, after, atMs }: Rooms,
): Promise<ReadonlyMap<string, KeptRoom>> {
  const providers = [...new Set([...before.keys(), ...after.keys()])];
  const rows = await tx.getAll('nomination', providers);
  const kept = new Map<string, KeptRoom>();
  for (const [n, provider] of providers.entries()) {
    const isOther = ([key, { untilMs }]: [string, { untilMs: number }]) => key !== reservedKey(name) && untilMs > atMs;
    const others = Object.fromEntries(Object.entries(rows[n] ?? {}).filter(isOther));
    const room = after.get(provider);
    const next: KeptRoom = room
      ? { ...others, [reservedKey(name)]: withNoted(room, rows[n]?.[reservedKey(name)]) }
      : others;
    if (Object.keys(next).length > 0) tx.put('nomination', provider, next);
    else if (rows[n]) tx.write({ kind: 'delete', table: 'nomination', key: provider });
    kept.set(provider, next);
  }
  return kept;
}
