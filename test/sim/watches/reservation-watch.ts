import type { Consumer } from '#libs/domain/consumer';
import { capacityOf } from '#libs/domain/inventory';
import type { Provider } from '#libs/domain/provider';
import type { Reservation } from '#libs/domain/queueing/reservation';
import type { Change, Rows } from '#libs/placement/port/placement-store';

/** Rows that reservations are judged on. */
interface ReservedRows {
  readonly providers: ReadonlyMap<string, Provider>;
  readonly consumers: ReadonlyMap<string, Consumer>;
  readonly reservations: ReadonlyMap<string, Reservation>;
}

/** Amounts of a class of a provider, of all that is there at a time. */
interface Place {
  readonly providerUuid: string;
  readonly resourceClass: string;
}

/**
 * Reservations by an oracle of its own: it draws up what is on a provider at a time, all of it, and compares that with the
 * capacity; the store compares what is in use now with what is left beside what is kept.
 */
export class ReservationWatch {
  readonly #rows = {
    providers: new Map<string, Provider>(),
    consumers: new Map<string, Consumer>(),
    reservations: new Map<string, Reservation>(),
  };
  /** Time at which the last reservation of a provider was gone. */
  readonly #goneAtMs = new Map<string, number>();

  /** Instances that ask for a reservation's own units, without faults. */
  readonly ownUnits: string[] = [];
  /** Reservations that were at risk. */
  readonly wereAtRisk = new Set<string>();

  /** The last begin or end of a window before a time, which schedulers write; 0 for none. */
  lastTurnBefore(atMs: number): number {
    const turns = [...this.#rows.reservations.values()].flatMap(({ fromMs, untilMs }) => [fromMs, untilMs]);
    return Math.max(0, ...turns.filter((turnMs) => turnMs < atMs));
  }

  /** Takes the rows of a store that went back. */
  load(all: readonly Rows[]): void {
    const { providers, consumers, reservations } = rowsOf(all);
    Object.assign(this.#rows, { providers, consumers, reservations });
  }

  /** The violation in a change, if any; `isClaim` for a claim that nobody forced. */
  take(change: Change, isClaim: boolean, atMs: number): string | undefined {
    const { providers, consumers } = this.#rows;
    for (const provider of change.providers ?? []) providers.set(provider.uuid, provider);
    for (const uuid of change.deletedProviders ?? []) providers.delete(uuid);
    for (const row of change.reservations ?? []) this.#setReservation(row.name, row, atMs);
    for (const name of change.deletedReservations ?? []) this.#setReservation(name, undefined, atMs);
    const before = new Map<string, Consumer | undefined>();
    for (const uuid of change.deletedConsumers ?? []) {
      before.set(uuid, consumers.get(uuid));
      consumers.delete(uuid);
    }
    for (const consumer of change.consumers ?? []) {
      before.set(consumer.uuid, consumers.get(consumer.uuid));
      consumers.set(consumer.uuid, consumer);
    }
    if (!isClaim) return undefined;
    for (const claim of change.consumers ?? []) {
      if (claim.owner !== 'conductor' || before.get(claim.uuid)?.claimToken === claim.claimToken) continue;
      for (const place of placesOf(claim)) {
        if (this.#growth(place, before) <= 0) continue;
        const wrong = wrongOfClaim(claim, place, this.#rows) ?? this.#beyondUnits(claim, place, before);
        if (wrong) return wrong;
      }
    }
    return undefined;
  }

  /** The violation in a refusal for what is reserved of a provider: nothing is, and nothing was a moment ago. */
  wrongOfRefusal(providerUuid: string, sinceMs: number): string | undefined {
    const isReserved = [...this.#rows.reservations.values()].some((row) => roomOf(row, providerUuid) !== undefined);
    if (isReserved || (this.#goneAtMs.get(providerUuid) ?? -Infinity) >= sinceMs) return undefined;
    return `a claim is refused for a reservation on ${this.#nameOf(providerUuid)}, which has none`;
  }

  /** An instance that was to end some time before a window, and is in its place, be it adopted after a loss. */
  late(name: string, sinceMs: number): string | undefined {
    const { reservations, consumers } = this.#rows;
    const row = reservations.get(name);
    if (!row) return undefined;
    const isLate = ({ endsAtMs = Infinity, allocations }: Consumer) => {
      return endsAtMs <= row.fromMs - sinceMs && Object.keys(allocations).some((uuid) => roomOf(row, uuid));
    };
    const one = [...consumers.values()].find(isLate);
    return one && `${one.uuid} was to end by ${one.endsAtMs}, and is there in the window of '${name}'`;
  }

  #setReservation(name: string, row: Reservation | undefined, atMs: number): void {
    const { reservations } = this.#rows;
    for (const { allocations } of reservations.get(name)?.units ?? []) {
      for (const uuid in allocations) this.#goneAtMs.set(uuid, atMs);
    }
    if (row?.units.some(({ host }) => host === '')) this.wereAtRisk.add(name);
    if (row) reservations.set(name, row);
    else reservations.delete(name);
  }

  #growth({ providerUuid, resourceClass }: Place, before: ReadonlyMap<string, Consumer | undefined>): number {
    const of = (one: Consumer | undefined) => one?.allocations[providerUuid]?.[resourceClass] ?? 0;
    return [...before].reduce((sum, [uuid, was]) => sum + of(this.#rows.consumers.get(uuid)) - of(was), 0);
  }

  /** A new instance in a reservation is one of those that its units on the provider are for. */
  #beyondUnits(
    claim: Consumer,
    { providerUuid, resourceClass }: Place,
    before: ReadonlyMap<string, Consumer | undefined>,
  ): string | undefined {
    if (claim.reservation === undefined || before.get(claim.uuid) !== undefined) return undefined;
    const row = this.#rows.reservations.get(claim.reservation);
    const room = row && roomOf(row, providerUuid)?.[resourceClass];
    if (!row || room === undefined || !isOpenAt(row, claim.updatedAtMs)) return undefined;
    const own = [...this.#rows.consumers.values()].filter((one) => isIn(row, one));
    const used = own.reduce((sum, one) => sum + (one.allocations[providerUuid]?.[resourceClass] ?? 0), 0);
    if (used <= room) return undefined;
    const where = `${resourceClass} of ${this.#nameOf(providerUuid)}`;
    return `${claim.uuid} takes what is used of '${row.name}' to ${used} ${where}, of ${room}`;
  }

  #nameOf(providerUuid: string): string {
    return this.#rows.providers.get(providerUuid)?.name ?? providerUuid;
  }
}

/** The rows of a store. */
export function rowsOf(all: readonly Rows[]): ReservedRows {
  const byUuid = <T extends { readonly uuid: string }>(rows: readonly T[]) =>
    new Map(rows.map((row) => [row.uuid, row]));
  return {
    providers: byUuid(all.flatMap(({ providers = [] }) => providers)),
    consumers: byUuid(all.flatMap(({ consumers = [] }) => consumers)),
    reservations: new Map(all.flatMap(({ reservations = [] }) => reservations).map((row) => [row.name, row])),
  };
}

/** The violation in units that are shown as held, if any: at no time of their window there is more on a host than it has. */
export function wrongOfHeld(row: Reservation, rows: ReservedRows, nowMs: number): string | undefined {
  for (const unit of row.units) {
    for (const place of placesOf(unit)) {
      const over = timesOf(row, rows, nowMs).find(
        (atMs) => amountAt(place, rows, { nowMs, atMs }) > capacity(place, rows),
      );
      const { providerUuid, resourceClass } = place;
      const name = rows.providers.get(providerUuid)?.name;
      if (over !== undefined) return `'${row.name}' is held, but ${resourceClass} of ${name} is over at ${over}`;
    }
  }
  return undefined;
}

/** True if one more unit of some amounts would fit on a provider during a window, beside all that is there. */
export function wouldFit(
  row: Reservation,
  { providerUuid, resources }: { readonly providerUuid: string; readonly resources: Readonly<Record<string, number>> },
  rows: ReservedRows,
  nowMs: number,
): boolean {
  return Object.entries(resources).every(([resourceClass, amount]) => {
    const place = { providerUuid, resourceClass };
    return timesOf(row, rows, nowMs).every(
      (atMs) => amountAt(place, rows, { nowMs, atMs }) + amount <= capacity(place, rows),
    );
  });
}

/** Its start, and the starts of others' windows within it. */
function timesOf({ name, fromMs, untilMs }: Reservation, { reservations }: ReservedRows, nowMs: number): number[] {
  const startMs = Math.max(fromMs, nowMs);
  const others = [...reservations.values()].filter((one) => one.name !== name);
  return [startMs, ...others.map((one) => one.fromMs).filter((atMs) => atMs > startMs && atMs < untilMs)];
}

/** A claim leaves what others' reservations keep, at its start and at the start of each window that it reaches into. */
function wrongOfClaim(claim: Consumer, place: Place, rows: ReservedRows): string | undefined {
  const { updatedAtMs: nowMs, endsAtMs = Infinity } = claim;
  const all = [...rows.reservations.values()];
  const own = all.find((row) => row.name === claim.reservation && row.projectId === claim.projectId);
  const others = all.filter((row) => row !== own && roomOf(row, place.providerUuid)?.[place.resourceClass]);
  const coming = others.map(({ fromMs }) => fromMs).filter((atMs) => atMs > nowMs && atMs < endsAtMs);
  for (const atMs of [nowMs, ...coming]) {
    if (!others.some((row) => isOpenAt(row, atMs))) continue;
    const there = amountAt(place, rows, { nowMs, atMs, except: own });
    const has = capacity(place, rows);
    if (there <= has) continue;
    const { name } = rows.providers.get(place.providerUuid) ?? {};
    const kept = others.filter((row) => isOpenAt(row, atMs)).map((row) => `'${row.name}'`);
    const what = `${claim.uuid} of ${claim.projectId} takes what ${kept.join(' and ')} keeps`;
    return `${what}: at ${atMs} there are ${there} ${place.resourceClass} of ${has} on ${name}`;
  }
  return undefined;
}

interface When {
  readonly nowMs: number;
  readonly atMs: number;
  /** A reservation that does not count. */
  readonly except?: Reservation | undefined;
}

/** All that is on a provider at a time: what has not ended by then, and units that nobody uses. What is late counts as lasting. */
function amountAt({ providerUuid, resourceClass }: Place, rows: ReservedRows, { nowMs, atMs, except }: When): number {
  const amountOf = (one: Pick<Consumer, 'allocations'>) => one.allocations[providerUuid]?.[resourceClass] ?? 0;
  const isThere = ({ endsAtMs = Infinity }: Consumer) => endsAtMs <= nowMs || endsAtMs > atMs;
  const there = [...rows.consumers.values()].filter((one) => isThere(one) && amountOf(one) > 0);
  let sum = there.reduce((total, one) => total + amountOf(one), 0);
  for (const row of rows.reservations.values()) {
    if (row === except || row.untilMs <= nowMs || !isOpenAt(row, atMs)) continue;
    const used = there.filter((one) => isIn(row, one)).reduce((total, one) => total + amountOf(one), 0);
    sum += Math.max(0, (roomOf(row, providerUuid)?.[resourceClass] ?? 0) - used);
  }
  return sum;
}

function isIn({ name, projectId, fromMs }: Reservation, one: Consumer): boolean {
  return one.reservation === name && one.projectId === projectId && one.updatedAtMs >= fromMs;
}

function isOpenAt({ fromMs, untilMs }: Reservation, atMs: number): boolean {
  return fromMs <= atMs && atMs < untilMs;
}

/** Amounts of a provider that units have, by class; undefined when none is there. */
function roomOf({ units }: Reservation, providerUuid: string): Readonly<Record<string, number>> | undefined {
  const there = units.map(({ allocations }) => allocations[providerUuid]).filter((one) => one !== undefined);
  if (there.length === 0) return undefined;
  const room: Record<string, number> = {};
  for (const [name, amount] of there.flatMap((one) => Object.entries(one))) room[name] = (room[name] ?? 0) + amount;
  return room;
}

function capacity({ providerUuid, resourceClass }: Place, { providers }: ReservedRows): number {
  const inventory = providers.get(providerUuid)?.inventories[resourceClass];
  return inventory ? capacityOf(inventory) : 0;
}

function placesOf({ allocations }: Pick<Consumer, 'allocations'>): Place[] {
  return Object.entries(allocations).flatMap(([providerUuid, resources]) =>
    Object.keys(resources).map((resourceClass) => ({ providerUuid, resourceClass })),
  );
}
