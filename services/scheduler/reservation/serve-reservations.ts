import { answer } from '#libs/bus/typed-calls';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import {
  createReservationMethod,
  deleteReservationMethod,
  listReservationsMethod,
  type ReservationStatus,
  type ReservationTerms,
} from '#libs/contracts/reservations';
import { BerthError, invalidArgument } from '#libs/domain/errors';
import {
  isUnplaced,
  isUseOf,
  MAX_RESERVED_MS,
  type Reservation,
  stateOfReservation,
} from '#libs/domain/queueing/reservation';
import { type KeepDeps, writeReservation } from './keep-reservations';
import { placeUnits, UNPLACED } from './place-units';

export interface ReservationCallDeps extends KeepDeps {
  readonly catchUp: () => Promise<void>;
}

/**
 * The calls about reservations, for operators.
 *
 * @throws BerthError `not_found / no_such_reservation`; `already_exists / reservation_exists`; `resource_exhausted /
 *   too_many_reservations`, `/ no_room_to_reserve`; `invalid_argument / bad_window`; `unavailable`.
 */
export function reservationCalls(deps: ReservationCallDeps, requireReady: () => void) {
  const { mirror, placement, clock, log } = deps;
  return {
    ...answer(listReservationsMethod, async ({ name }) => {
      requireReady();
      await deps.catchUp();
      const all = mirror.reservations();
      const shown = name === '' ? all : all.filter((one) => one.name === name);
      if (name !== '' && shown.length === 0) throw noSuchReservation(name);
      return { reservations: shown.map((one) => statusOf(one, deps)) };
    }),
    ...answer(createReservationMethod, async ({ reservation }) => {
      requireReady();
      await deps.catchUp();
      return { reservation: await createReservation(reservation, deps) };
    }),
    ...answer(deleteReservationMethod, async ({ name }) => {
      requireReady();
      const result = await placement.commit({ kind: 'delete_reservation', name, atMs: clock.now() });
      if (result.kind !== 'committed') throw noSuchReservation(name);
      mirror.apply(result.change);
      log.info({ event: 'reservation_deleted', reservation: name }, `reservation '${name}' is deleted`);
      return {};
    }),
  };
}

/** Times to find hosts anew after others took the room first. */
const MAX_ATTEMPTS = 5;

/** Creates a reservation, each unit with a host; a copy of the call is answered with what is there. @throws BerthError as `reservationCalls`. */
export async function createReservation(
  terms: ReservationTerms,
  deps: ReservationCallDeps,
): Promise<ReservationStatus> {
  const { name, fromMs, untilMs, count, requestSpec } = terms;
  const { clock, parts, log, mirror } = deps;
  if (untilMs <= clock.now()) throw badWindow('it is over already');
  if (fromMs > clock.now() + MAX_RESERVED_MS) throw badWindow('it begins within a year');
  if (requestSpec.reservation !== undefined)
    throw invalidArgument('nested_reservation', 'it can not be in another', 'request_spec.reservation');
  const encoded = Buffer.from(requestSpecCodec.encode(requestSpec)).toString('base64');
  const about = { name, projectId: requestSpec.projectId, fromMs, untilMs, requestSpec: encoded };
  const present = () => mirror.reservations().find((one) => one.name === name);
  const made = () => {
    const row = present();
    return row && isSame(row, { ...about, count }) ? statusOf(row, deps) : undefined;
  };
  const before = made();
  if (before) return before;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const units = Array.from({ length: count }, () => UNPLACED);
    const placed = placeUnits({ ...about, units }, clock.now(), parts);
    const missing = placed.units.filter(isUnplaced).length;
    if (missing > 0) throw noRoom(`${missing} of ${count} units find no host: ${placed.reason}`);
    const result = await writeReservation({ ...about, units: placed.units, reason: '' }, undefined, deps);
    if (result.kind === 'committed') {
      const row = present();
      log.info({ event: 'reservation_created', reservation: name, project: about.projectId }, `reserved '${name}'`);
      return statusOf(row ?? { ...about, units: placed.units, reason: '', updatedAtMs: clock.now() }, deps);
    }
    if (result.kind === 'exists') {
      // By another scheduler, which has answered a copy of this call: the mirror may not show it yet.
      await deps.catchUp();
      const meanwhile = made();
      if (meanwhile) return meanwhile;
      throw new BerthError('already_exists', 'reservation_exists', `there is a reservation '${name}' already`);
    }
    if (result.kind === 'full') {
      const message = `there may be ${result.most} reservations: delete one first`;
      throw new BerthError('resource_exhausted', 'too_many_reservations', message);
    }
    await deps.catchUp();
  }
  throw noRoom('others took the hosts first each time');
}

function isSame(
  { projectId, fromMs, untilMs, requestSpec, units }: Reservation,
  asked: Omit<Reservation, 'units' | 'reason' | 'updatedAtMs'> & { readonly count: number },
): boolean {
  const isInWindow = fromMs === asked.fromMs && untilMs === asked.untilMs;
  const isOf = projectId === asked.projectId && requestSpec === asked.requestSpec;
  return isInWindow && isOf && units.length === asked.count;
}

function statusOf(row: Reservation, { mirror }: Pick<KeepDeps, 'mirror'>): ReservationStatus {
  const { name, projectId, fromMs, untilMs, units, reason, updatedAtMs } = row;
  const of = { reservation: name, projectId, fromMs };
  const requestSpec = requestSpecCodec.decode(Buffer.from(row.requestSpec, 'base64'));
  const names = new Set(units.filter((unit) => !isUnplaced(unit)).map(({ host }) => host));
  const hosts = [...names].map((host) => {
    const there = units.filter((unit) => unit.host === host);
    const providers = new Set(there.flatMap(({ allocations }) => Object.keys(allocations)));
    const consumers = new Set([...providers].flatMap((uuid) => [...mirror.consumersOn(uuid)]));
    const isIn = (uuid: string) => {
      const consumer = mirror.consumer(uuid);
      return consumer !== undefined && isUseOf(of, { ...consumer, sinceMs: consumer.updatedAtMs });
    };
    return { host, units: there.length, instances: [...consumers].filter(isIn).length };
  });
  const reservation = { name, fromMs, untilMs, count: units.length, requestSpec };
  return { reservation, state: stateOfReservation(row), reason, hosts, updatedAtMs };
}

function badWindow(why: string): BerthError {
  return invalidArgument('bad_window', `the window can not be kept: ${why}`, 'until_ms');
}

function noRoom(why: string): BerthError {
  return new BerthError('resource_exhausted', 'no_room_to_reserve', why);
}

function noSuchReservation(name: string): BerthError {
  return new BerthError('not_found', 'no_such_reservation', `there is no reservation '${name}'`);
}
