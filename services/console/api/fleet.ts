/** A host on the fleet page. */
export interface FleetHost {
  readonly name: string;
  readonly zone: string;
  readonly rack: string;
  readonly aggregates: readonly string[];
  /** The sum of its `FLAGS`. */
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

/** Conditions that make a host stand out; `FleetHost.flags` is their sum. */
export const FLAGS = { down: 1, disabled: 2, draining: 4, doubtful: 8, failing: 16 } as const;

/** `fleet_all`: every host. */
export interface FleetAll {
  readonly classes: readonly string[];
  readonly hosts: readonly FleetHost[];
}

/** `fleet`: the changes since the last event. */
export interface FleetChange {
  readonly hosts: readonly FleetHost[];
  readonly gone: readonly string[];
  /** Hosts with newly ACTIVE instances, and hosts with newly failed attempts. */
  readonly landed: readonly string[];
  readonly failed: readonly string[];
}
