import type { Host } from '#libs/domain/host';
import type { Provider } from '#libs/domain/provider';

/**
 * A host as filters and weighers see it (Nova's HostState): the row of the store and what is counted from others. What it
 * has of each resource class, its traits and aggregates stand in the fleet's columns, under `index`.
 */
export interface HostState {
  /** Its place in the columns, as long as it is in the fleet. */
  readonly index: number;
  readonly host: Host;
  readonly root: Provider;
  /** One provider, and nothing is shared with it: what an instance takes comes from the root. */
  readonly isFlat: boolean;
  /** On the host or claimed for it, those that Berth does not manage included. */
  readonly instances: number;
  /** Builds as the host last reported them, and claims that it has not had time to report. */
  readonly buildsInProgress: number;
  /** Failed builds, faded with time; a fraction. */
  readonly recentFailures: number;
}
