import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import {
  isUnplaced,
  mostBeside,
  type Reservation,
  type ReservedUnit,
  reservedRooms,
  stateOfReservation,
} from '#libs/domain/queueing/reservation';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type { CommitResult, PlacementStore, Revised } from '#libs/placement/port/placement-store';
import type { Log } from '#libs/runtime/log';
import { holdings, limitedOnAny, roomsByProvider } from './holdings';
import { type PlaceParts, placeUnits, UNPLACED } from './place-units';

/** Time between two looks at reservations. */
const LOOK_MS = 1_000;

export interface KeepDeps {
  readonly parts: PlaceParts;
  readonly placement: Pick<PlacementStore, 'commit'>;
  readonly mirror: Mirror;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Looks after reservations: units whose host is gone, down, disabled or too full get another one as soon as there is one, which
 * is said, and those whose window is over end. Any number of schedulers may do so: the row's revision lets one of them write.
 */
export async function keepReservations(deps: KeepDeps, signal: AbortSignal): Promise<void> {
  const { clock, log } = deps;
  while (!signal.aborted) {
    await sleep(clock, LOOK_MS, signal);
    if (signal.aborted) return;
    await lookAtReservations(deps).catch((thrown: unknown) => {
      const { reason } = BerthError.from(thrown);
      log.info({ event: 'reservation_look_failed', reason }, 'could not look after reservations, retrying later');
    });
  }
}

/** Brings each reservation to what its hosts are now. */
export async function lookAtReservations(deps: KeepDeps): Promise<void> {
  for (const one of deps.mirror.reservations()) {
    if (one.untilMs <= deps.clock.now()) await endReservation(one, deps);
    else await keepReservation(one, deps);
  }
}

async function endReservation({ name, untilMs }: Reservation, { placement, mirror, clock, log }: KeepDeps) {
  const atMs = clock.now();
  const result = await placement.commit({ kind: 'delete_reservation', name, endedAtMs: atMs, atMs });
  if (result.kind !== 'committed') return;
  mirror.apply(result.change);
  log.info({ event: 'reservation_ended', reservation: name, until_ms: untilMs }, `reservation '${name}' is over`);
}

async function keepReservation(row: Revised<Reservation>, deps: KeepDeps): Promise<void> {
  const { parts, clock, log } = deps;
  const nowMs = clock.now();
  // Reads hosts that changed since.
  parts.fleet.snapshot(nowMs);
  const checked = checkedUnits(row, nowMs, deps);
  if (checked.units.every((unit) => !isUnplaced(unit))) return noteOpening(row, nowMs, deps);
  const { units, reason } = placeUnits({ ...row, units: checked.units }, nowMs, parts);
  const next = { ...row, units, reason: [...checked.lost, reason].filter((text) => text !== '').join('; ') };
  const before = stateOfReservation(row);
  const now = stateOfReservation(next);
  const isSame = now === before && units.every((unit, n) => unit.host === row.units[n]?.host);
  // While there is no other host the first reason says why.
  if (isSame) return;
  const result = await writeReservation({ ...next, reason: now === 'held' ? '' : next.reason }, row.revision, deps);
  if (result.kind !== 'committed') return;
  const about = { reservation: row.name, project: row.projectId, hosts: [...new Set(units.map(({ host }) => host))] };
  if (now === 'at_risk') {
    const unplaced = units.filter(isUnplaced).length;
    log.warn(
      { event: 'reservation_at_risk', ...about, unplaced },
      `reservation '${row.name}': ${unplaced} of ${units.length} units have no host: ${next.reason}`,
    );
  } else if (before === 'at_risk') {
    log.info({ event: 'reservation_held', ...about }, `each unit of reservation '${row.name}' has a host again`);
  } else {
    log.info({ event: 'reservation_moved', ...about }, `units of '${row.name}' moved: ${checked.lost.join('; ')}`);
  }
}

/** A window that opens changes no row: one is written, so that those who wait for it are tried. */
async function noteOpening(row: Revised<Reservation>, nowMs: number, deps: KeepDeps): Promise<void> {
  if (row.fromMs > nowMs || row.updatedAtMs >= row.fromMs) return;
  const result = await writeReservation(row, row.revision, deps);
  if (result.kind !== 'committed') return;
  deps.log.info({ event: 'reservation_opened', reservation: row.name }, `the window of '${row.name}' is open`);
}

/** Commits a reservation and shows it to this process. */
export async function writeReservation(
  reservation: Omit<Reservation, 'updatedAtMs'>,
  replaces: number | undefined,
  { placement, mirror, clock }: Pick<KeepDeps, 'placement' | 'mirror' | 'clock'>,
): Promise<CommitResult> {
  const { name, projectId, fromMs, untilMs, requestSpec, units, reason } = reservation;
  const row = { name, projectId, fromMs, untilMs, requestSpec, units, reason };
  const providers = new Set(units.flatMap(({ allocations }) => Object.keys(allocations)));
  const besides = limitedOnAny(providers, mirror);
  const result = await placement.commit({
    kind: 'write_reservation',
    reservation: row,
    replaces,
    besides,
    atMs: clock.now(),
  });
  if (result.kind === 'committed') mirror.apply(result.change);
  return result;
}

/** The units, without a host those that theirs cannot have any more; and why. */
function checkedUnits(row: Reservation, nowMs: number, deps: KeepDeps) {
  const lost: string[] = [];
  let units: readonly ReservedUnit[] = row.units;
  for (const host of new Set(row.units.map((unit) => unit.host))) {
    if (host === '') continue;
    const why = unfitOf(host, deps);
    if (why !== undefined) {
      lost.push(`host ${host} ${why}`);
      units = units.map((unit) => (unit.host === host ? UNPLACED : unit));
      continue;
    }
    let isFirst = true;
    for (;;) {
      const full = fullOn(host, { ...row, units }, nowMs, deps);
      const last = units.findLastIndex((unit) => unit.host === host);
      if (full === '' || last < 0) break;
      units = units.with(last, UNPLACED);
      if (isFirst) lost.push(`host ${host} lacks ${full}`);
      isFirst = false;
    }
  }
  return { units, lost };
}

function unfitOf(name: string, { parts: { fleet } }: KeepDeps): string | undefined {
  const state = fleet.newestAt(fleet.indexOfHost(name));
  if (!state) return 'is gone';
  if (!state.host.up) return 'is down';
  return state.host.enabled ? undefined : 'is disabled';
}

/** The class that a host's providers have too little of for the units there; '' for none. */
function fullOn(host: string, row: Reservation, nowMs: number, { mirror }: KeepDeps): string {
  const here = reservedRooms({ ...row, units: row.units.filter((unit) => unit.host === host) });
  for (const [uuid, room] of here) {
    const used = mirror.usage(uuid);
    const beside = {
      inventories: mirror.provider(uuid)?.inventories ?? {},
      rooms: roomsByProvider(mirror.reservations()).get(uuid) ?? [],
      holdings: holdings(uuid, mirror, NOBODY),
    };
    const full = mostBeside(room, beside, nowMs).find(([name, most]) => (used[name] ?? 0) > most);
    if (full) return full[0];
  }
  return '';
}

const NOBODY: ReadonlySet<string> = new Set();
