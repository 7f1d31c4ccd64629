import type { Bus } from '#libs/bus/port';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import type { RuntimeDeps } from '#libs/runtime/service';
import type { SchedulerConfig } from '../options';

export interface ReportDeps extends Pick<RuntimeDeps, 'clock' | 'log'> {
  readonly bus: Bus;
  readonly placement: PlacementStore;
  readonly mirror: Mirror;
  readonly config: SchedulerConfig;
}
