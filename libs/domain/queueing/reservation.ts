import type { Allocations } from '../consumer';
import { addResources, capacityOf, type Inventories, type Resources } from '../inventory';

/** Capacity that operators hold for a project over a window of time. */
export interface Reservation {
  /** Unique in the cell. */
  readonly name: string;
  readonly projectId: string;
  readonly fromMs: number;
  readonly untilMs: number;
  /** The request of one unit in wire form, as base64. */
  readonly requestSpec: string;
  /** One for each instance that fits in. */
  readonly units: readonly ReservedUnit[];
  /** Why units have no host; '' when each has one. */
  readonly reason: string;
  readonly updatedAtMs: number;
}

/** Capacity for one instance. It holds nothing on a host until its window begins; '' and nothing: it has no host. */
export interface ReservedUnit {
  readonly host: string;
  readonly rootUuid: string;
  readonly allocations: Allocations;
}

/** In a cell: each costs the claims on its hosts. */
export const MAX_RESERVATIONS = 32;
/** Most units of one reservation. */
export const MAX_RESERVED_UNITS = 64;
/** One year: the longest window, and the earliest notice of one. */
export const MAX_RESERVED_MS = 31_536_000_000;

/** True when a unit has no host. */
export function isUnplaced({ host }: ReservedUnit): boolean {
  return host === '';
}

/** The part of a reservation that says where its units are. */
export type ReservedUnits = Pick<Reservation, 'name' | 'projectId' | 'fromMs' | 'untilMs' | 'units'>;

export const RESERVATION_STATES = ['held', 'at_risk'] as const;
export type ReservationState = (typeof RESERVATION_STATES)[number];

/** `held` while each unit has a host, else `at_risk`. */
export function stateOfReservation({ units }: Pick<Reservation, 'units'>): ReservationState {
  return units.some(isUnplaced) ? 'at_risk' : 'held';
}

/** The part of a reservation on one provider. */
export interface ReservedRoom {
  readonly reservation: string;
  readonly projectId: string;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly resources: Resources;
  /** Consumers that claimed in it here, some of which may be gone since. */
  readonly users?: readonly string[];
}

/** The parts of a reservation by provider. */
export function reservedRooms({ name, projectId, fromMs, untilMs, units }: ReservedUnits): Map<string, ReservedRoom> {
  const rooms = new Map<string, ReservedRoom>();
  for (const [uuid, resources] of units.flatMap(({ allocations }) => Object.entries(allocations))) {
    const before = rooms.get(uuid)?.resources ?? {};
    const about = { reservation: name, projectId, fromMs, untilMs };
    rooms.set(uuid, { ...about, resources: addResources(before, resources) });
  }
  return rooms;
}

/** The reservation that something is in or of. */
interface InReservation {
  readonly reservation?: string | undefined;
  readonly projectId: string;
}

/** A holding on a provider. */
export interface Holding extends InReservation {
  readonly sinceMs: number;
  readonly endsAtMs?: number | undefined;
  readonly resources: Resources;
}

/** Use of a provider that is to begin: a claim, or a unit of a reservation. */
export interface ComingUse extends InReservation {
  readonly startsAtMs: number;
  /** Undefined, or not after its start: it lasts. */
  readonly endsAtMs?: number | undefined;
}

/**
 * Amounts of a provider that reservations keep from a coming use, by class, over what is in use now; below 0 where more ends
 * before it starts than is kept.
 *
 * The naive rule is to leave the room of every reservation alone: then hosts stand empty for hours before a window. Here a use
 * is checked at its start and at the start of each window that it reaches into. At each of these times a reservation keeps
 * what its own instances do not use of it, and what has ended by then is free. What should have ended before now, and is there,
 * counts as lasting.
 *
 * @param holdings  consumers that may end by then or use a reservation; leaving one out keeps more, never less
 */
export function keptFrom(
  use: ComingUse,
  rooms: readonly ReservedRoom[],
  holdings: readonly Holding[],
  nowMs: number,
): Resources {
  const others = rooms.filter((room) => room.untilMs > nowMs && !isOf(room, use));
  const endsAtMs = endAhead(use.endsAtMs, use.startsAtMs) ?? Infinity;
  const isWithin = ({ fromMs }: ReservedRoom) => fromMs > use.startsAtMs && fromMs < endsAtMs;
  const times = [use.startsAtMs, ...others.filter(isWithin).map(({ fromMs }) => fromMs)];
  const kept: Record<string, number> = {};
  for (const [n, atMs] of times.entries()) {
    const hasEnded = (one: Holding) => (endAhead(one.endsAtMs, nowMs) ?? Infinity) <= atMs;
    const lasting = holdings.filter((one) => !hasEnded(one));
    const then: Record<string, number> = {};
    for (const { resources } of holdings.filter(hasEnded)) {
      for (const name in resources) then[name] = (then[name] ?? 0) - (resources[name] as number);
    }
    for (const room of others.filter(({ fromMs, untilMs }) => fromMs <= atMs && atMs < untilMs)) {
      const unused = unusedOf(room, lasting);
      for (const name in unused) then[name] = (then[name] ?? 0) + (unused[name] as number);
    }
    for (const name of new Set([...Object.keys(kept), ...Object.keys(then)])) {
      const most = n === 0 ? -Infinity : (kept[name] ?? 0);
      kept[name] = Math.max(most, then[name] ?? 0);
    }
  }
  return kept;
}

/** An end that is still ahead. What begins after the end that it was to have, as a build that is tried again much later, lasts. */
export function endAhead(endsAtMs: number | undefined, nowMs: number): number | undefined {
  return endsAtMs !== undefined && endsAtMs > nowMs ? endsAtMs : undefined;
}

function isOf(room: ReservedRoom, { reservation, projectId }: InReservation): boolean {
  return room.reservation === reservation && room.projectId === projectId;
}

/** True for a holding in a reservation's own window: one of an earlier reservation of its name is not its own. */
export function isUseOf(
  { reservation, projectId, fromMs }: Pick<ReservedRoom, 'reservation' | 'projectId' | 'fromMs'>,
  holding: Omit<Holding, 'resources'>,
): boolean {
  return holding.reservation === reservation && holding.projectId === projectId && holding.sinceMs >= fromMs;
}

/** The part of a reservation on a provider that its own instances do not use. */
export function unusedOf(room: ReservedRoom, holdings: readonly Holding[]): Resources {
  const own = holdings.filter((one) => isUseOf(room, one));
  const used = own.map((one) => one.resources).reduce(addResources, {});
  const left = Object.entries(room.resources).map(([name, amount]) => [name, Math.max(0, amount - (used[name] ?? 0))]);
  return Object.fromEntries(left);
}

/** A provider's inventories, all parts of reservations there, and the holdings that count. */
interface Beside {
  readonly inventories: Inventories;
  readonly rooms: readonly ReservedRoom[];
  readonly holdings: readonly Holding[];
}

/**
 * The most of each class that may be in use on a provider now, for a part of a reservation to fit there in its window beside what
 * others keep; -1 of a class that the provider does not have.
 */
export function mostBeside(
  room: ReservedRoom,
  { inventories, rooms, holdings }: Beside,
  nowMs: number,
): readonly (readonly [resourceClass: string, most: number])[] {
  const use = { ...room, startsAtMs: Math.max(room.fromMs, nowMs), endsAtMs: room.untilMs };
  const kept = keptFrom(use, rooms, holdings, nowMs);
  return Object.entries(unusedOf(room, holdings)).map(([name, amount]) => {
    const inventory = inventories[name];
    return [name, inventory ? capacityOf(inventory) - amount - (kept[name] ?? 0) : -1] as const;
  });
}
