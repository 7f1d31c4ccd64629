import type { AuthConfig } from '#libs/auth/options';
import type { Bus } from '#libs/bus/port';
import type { InstanceStore } from '#libs/instances/store';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { Running, RuntimeDeps } from '#libs/runtime/service';
import type { ActionParts } from '../actions/console-actions';
import type { Live, LiveParts } from '../live/live';
import type { ConsoleConfig } from '../options';
import type { StartBerth } from '../rehearsals/berth-process';
import type { SessionDeps } from './session';

export interface ConsoleDeps extends RuntimeDeps {
  readonly bus: Bus;
  readonly mirror: PlacementView & Pick<Running, 'readiness'>;
  readonly instances: InstanceStore;
  readonly placement: LiveParts['placement'];
  readonly config: ConsoleConfig & AuthConfig;
  /** Starts rehearsals; without it none can be started. */
  readonly berth?: StartBerth;
}

export interface AppParts extends ConsoleDeps, SessionDeps, Omit<ActionParts, 'clock' | 'bus'> {
  readonly live: Live;
}
