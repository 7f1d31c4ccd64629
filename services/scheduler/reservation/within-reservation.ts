/** Hosts, by index, on which a reservation has units; none, and why, while it has no open window. */
export interface WithinReservation {
  readonly hosts: ReadonlySet<number>;
  readonly symbol: 'not_reserved' | 'reservation_not_open' | 'no_such_reservation';
  readonly why: string;
}
