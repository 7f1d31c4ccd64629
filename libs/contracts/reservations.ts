import { berth } from '#generated/berth';
import { invalidArgument } from '../domain/errors';
import {
  MAX_RESERVATIONS,
  MAX_RESERVED_MS,
  MAX_RESERVED_UNITS,
  RESERVATION_STATES,
} from '../domain/queueing/reservation';
import { between, hostName, operatorsName, text, whole } from './checks';
import { count, list, oneOf, orEmpty, required } from './fields';
import { message, type PlainOf } from './message';
import { FEW, MANY, ofServices } from './message-rules';
import { requestSpec } from './request-spec';

const wire = berth.reservation.v1;

const reservation = message(
  wire.Reservation,
  {
    name: operatorsName,
    fromMs: whole,
    untilMs: whole,
    count: between(1, MAX_RESERVED_UNITS),
    requestSpec: required(requestSpec),
  },
  {
    check({ fromMs, untilMs }) {
      if (fromMs < untilMs && untilMs - fromMs <= MAX_RESERVED_MS) return;
      throw invalidArgument('bad_window', 'a window ends after it begins, within a year', 'until_ms');
    },
  },
);
export type ReservationTerms = PlainOf<typeof reservation>;

const reservedHost = message(wire.ReservedHost, { host: hostName, units: count, instances: count });

const reservationStatus = message(wire.ReservationStatus, {
  reservation: required(reservation),
  state: oneOf(RESERVATION_STATES),
  reason: text,
  hosts: list(reservedHost, MAX_RESERVED_UNITS),
  updatedAtMs: whole,
});
export type ReservationStatus = PlainOf<typeof reservationStatus>;

/** To `rpc.scheduler`: reservations, and where their units are. For operators. */
export const listReservationsMethod = {
  request: message(wire.ListReservationsRequest, { name: orEmpty(operatorsName) }, { rule: ofServices(FEW) }),
  response: message(wire.ListReservationsResponse, { reservations: list(reservationStatus, MAX_RESERVATIONS) }),
};

/** To `rpc.scheduler`: holds capacity for a project over a window of time. For operators. */
export const createReservationMethod = {
  request: message(wire.CreateReservationRequest, { reservation: required(reservation) }, { rule: ofServices(MANY) }),
  response: message(wire.CreateReservationResponse, { reservation: required(reservationStatus) }),
};

/** To `rpc.scheduler`: ends a reservation; its instances stay. For operators. */
export const deleteReservationMethod = {
  request: message(wire.DeleteReservationRequest, { name: operatorsName }, { rule: ofServices(FEW) }),
  response: message(wire.DeleteReservationResponse, {}),
};
