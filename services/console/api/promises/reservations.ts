/** The data of the page of reservations. */
export interface ReservationsPage {
  /** The next to begin first. */
  readonly reservations: readonly ReservationRow[];
}

export interface ReservationRow {
  readonly name: string;
  readonly projectId: string;
  readonly fromMs: number;
  readonly untilMs: number;
  /** True while its window is open. */
  readonly isOpen: boolean;
  readonly units: number;
  /** Instances that use units now. */
  readonly used: number;
  /** Flavor of a unit; '' for amounts of its own. */
  readonly flavor: string;
  /** Amounts of a unit. */
  readonly resources: Readonly<Record<string, number>>;
  readonly hosts: readonly ReservedOn[];
  readonly isAtRisk: boolean;
  /** Why units have no host; '' when each has one. */
  readonly reason: string;
}

/** The units of a reservation on one host. */
export interface ReservedOn {
  readonly host: string;
  readonly units: number;
  readonly used: number;
}
