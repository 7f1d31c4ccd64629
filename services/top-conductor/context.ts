import type { HoldRetry } from '#libs/bus/hold-message';
import type { Bus } from '#libs/bus/port';
import type { CellLink } from '#libs/cells/cell-link';
import type { InstanceRow } from '#libs/domain/instance';
import type { FlavorStore } from '#libs/instances/flavor-store';
import type { InstanceStore, LeaseStore } from '#libs/instances/store';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import type { SenderLog } from '#libs/runtime/sender-log';
import type { RuntimeDeps } from '#libs/runtime/service';
import type { TopConductorMetrics } from './metrics';
import type { TopConductorConfig } from './options';

/** Dependencies of a conductor of the top. */
export interface TopConductorDeps extends RuntimeDeps {
  /** The top's bus. */
  readonly bus: Bus;
  /** Instances with their cells, and their states there. */
  readonly instances: InstanceStore<InstanceRow>;
  readonly leases: LeaseStore;
  /** The fleet's flavors; cells have others besides, which requests to the top can't name. */
  readonly flavors: FlavorStore;
  /** The top's own store: reservations of instances against their projects' quotas. */
  readonly placement: Pick<PlacementStore, 'commit' | 'consumers' | 'scanConsumers' | 'revision'>;
  readonly links: ReadonlyMap<string, CellLink>;
  readonly config: TopConductorConfig;
}

/** Dependencies plus runtime state. */
export interface TopConductor extends TopConductorDeps {
  readonly measured: TopConductorMetrics;
  /** Logs refused messages. */
  readonly refusals: SenderLog;
  readonly stopping: AbortSignal;
  /** Backoff of retries during an outage. */
  readonly retry: HoldRetry;
}
