import type { ReservationStatus } from '#libs/contracts/reservations';
import { MAX_RESERVED_UNITS, RESERVATION_STATES } from '#libs/domain/queueing/reservation';
import type { Answer } from '../../http/request';
import {
  CLASS_NAME,
  exactInteger,
  exactly,
  integer,
  keyed,
  list,
  orNull,
  shortText,
  text,
  visibleName,
  whole,
} from '../../schemas/parts';
import type { BuildCall } from '../build-call';
import { explainedFields, specOf } from '../spec';

export const reservationSchema = whole({
  name: text,
  project_id: text,
  from_ms: integer,
  until_ms: integer,
  count: integer,
  flavor: orNull(text),
  resources: keyed(CLASS_NAME, integer),
  state: { type: 'string', enum: RESERVATION_STATES },
  reason: text,
  hosts: { ...list(whole({ host: text, units: integer, instances: integer })), maxItems: MAX_RESERVED_UNITS },
  updated_at_ms: integer,
});
export const reservationsSchema = whole({ reservations: list(reservationSchema) });

/** GET /berth/reservations */
export const reservationsQuery = exactly({ name: shortText });
const { reservation: _nested, ...unitFields } = explainedFields;
/** PUT /berth/reservations/{name} */
export const reservationBody = exactly(
  {
    project_id: visibleName,
    from_ms: { ...exactInteger, minimum: 0 },
    until_ms: { ...exactInteger, minimum: 1 },
    count: { ...integer, minimum: 1, maximum: MAX_RESERVED_UNITS },
    ...unitFields,
  },
  ['project_id', 'from_ms', 'until_ms'],
);

interface ReservationBody {
  readonly project_id: string;
  readonly from_ms: number;
  readonly until_ms: number;
  readonly count?: number;
}

/** GET /berth/reservations: all or one (`name`). */
export async function listReservations({ client, query }: BuildCall): Promise<Answer> {
  const found = await (await client()).reservations(query.last('name') ?? '');
  return { status: 200, body: { reservations: found.map(reservationJson) } };
}

/** PUT /berth/reservations/{name}. @throws BerthError `no_room_to_reserve`, `reservation_exists`. */
export async function createReservation({ client, params, body }: BuildCall): Promise<Answer> {
  const { project_id: projectId, from_ms: fromMs, until_ms: untilMs, count = 1, ...rest } = body as ReservationBody;
  const spec = specOf(rest, projectId, 'operator');
  const terms = { name: params.name, fromMs, untilMs, count, spec };
  return { status: 200, body: reservationJson(await (await client()).createReservation(terms)) };
}

/** DELETE /berth/reservations/{name}. @throws BerthError `not_found / no_such_reservation`. */
export async function deleteReservation({ client, params }: BuildCall): Promise<Answer> {
  await (await client()).deleteReservation(params.name);
  return { status: 204 };
}

function reservationJson({ reservation, state, reason, hosts, updatedAtMs }: ReservationStatus) {
  const { name, fromMs, untilMs, count, requestSpec } = reservation;
  return {
    name,
    project_id: requestSpec.projectId,
    from_ms: fromMs,
    until_ms: untilMs,
    count,
    flavor: requestSpec.flavor?.name ?? null,
    resources: requestSpec.resources,
    state,
    reason,
    hosts,
    updated_at_ms: updatedAtMs,
  };
}
