import type { HoldRetry } from '#libs/bus/hold-message';
import type { Bus } from '#libs/bus/port';
import type { FlavorStore } from '#libs/instances/flavor-store';
import type { InstanceStore, LeaseStore } from '#libs/instances/store';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import type { AllocationRequest, Sealer } from '#libs/placement/sealed/allocation-request';
import type { SenderLog } from '#libs/runtime/sender-log';
import type { RuntimeDeps } from '#libs/runtime/service';
import type { EventPublisher } from './events/publish-events';
import type { ConductorMetrics } from './metrics';
import type { ConductorConfig } from './options';

/** Dependencies of a conductor. */
export interface ConductorDeps extends RuntimeDeps {
  readonly bus: Bus;
  readonly placement: PlacementStore;
  readonly instances: InstanceStore;
  readonly leases: LeaseStore;
  readonly flavors: FlavorStore;
  readonly config: ConductorConfig;
  /** Opens what schedulers sealed; throws BerthError `invalid_argument` when it was sealed under another key. */
  readonly open: (sealed: Uint8Array, nowMs?: number) => AllocationRequest;
  /** Seals what a claim was exchanged for. */
  readonly seal: Sealer;
}

/** The same, once it runs. */
export interface ConductorContext extends ConductorDeps {
  readonly measured: ConductorMetrics;
  /** Refused messages, in the log. */
  readonly refusals: SenderLog;
  readonly events: EventPublisher;
  /** Aborts when the conductor stops: waits end, messages in hand go back to the queue. */
  readonly stopping: AbortSignal;
  /** Retries of work while something is unavailable. */
  readonly retry: HoldRetry;
}
