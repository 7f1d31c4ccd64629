import type { HoldRetry } from '#libs/bus/hold-message';
import type { Bus } from '#libs/bus/port';
import type { CellLink } from '#libs/cells/cell-link';
import type { FlavorStore } from '#libs/instances/flavor-store';
import type { InstanceStore, LeaseStore } from '#libs/instances/store';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import type { SenderLog } from '#libs/runtime/sender-log';
import type { Surroundings } from '#libs/runtime/service';
import type { TopConductorMetrics } from './metrics';
import type { TopConductorConfig } from './options';

/** What a conductor of the top works with. */
export interface TopConductorDeps extends Surroundings {
  /** Of the top. */
  readonly bus: Bus;
  /** Which instance is in which cell, and how it is there. */
  readonly instances: InstanceStore;
  readonly leases: LeaseStore;
  /** Of the fleet: cells have their own besides, which requests to the top do not name. */
  readonly flavors: FlavorStore;
  /** The top's own: what instances reserve of their projects' quotas. */
  readonly placement: Pick<PlacementStore, 'commit' | 'consumers' | 'scanConsumers' | 'revision'>;
  readonly links: ReadonlyMap<string, CellLink>;
  readonly config: TopConductorConfig;
}

/** The same, once it runs. */
export interface TopConductor extends TopConductorDeps {
  readonly measured: TopConductorMetrics;
  /** Refused messages, in the log. */
  readonly refusals: SenderLog;
  readonly stopping: AbortSignal;
  /** How work is done again while something is away. */
  readonly retry: HoldRetry;
}
