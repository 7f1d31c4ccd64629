/** A host as the fleet page draws it. */
export interface FleetHost {
  readonly name: string;
  readonly zone: string;
  readonly rack: string;
  readonly aggregates: readonly string[];
  /** Which of `FLAGS` it has, added. */
  readonly flags: number;
  readonly failures: number;
  readonly failuresInARow: number;
  readonly updatedAtMs: number;
  /** Builds and other heavy work in progress. */
  readonly ioOps: number;
  readonly instances: number;
  /** By `FleetAll.classes`; 0 where it has none. */
  readonly used: readonly number[];
  readonly capacity: readonly number[];
}

/** What makes a host stand out; the numbers are added in `FleetHost.flags`. */
export const FLAGS = { down: 1, disabled: 2, draining: 4, doubtful: 8, failing: 16 } as const;

/** `fleet_all`: every host. */
export interface FleetAll {
  readonly classes: readonly string[];
  readonly hosts: readonly FleetHost[];
}

/** `fleet`: what changed since. */
export interface FleetChange {
  readonly hosts: readonly FleetHost[];
  readonly gone: readonly string[];
  /** Hosts on which instances have become ACTIVE, and on which attempts have failed. */
  readonly landed: readonly string[];
  readonly failed: readonly string[];
}
