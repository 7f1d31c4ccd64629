import type { Clock } from '../domain/clock';
import type { Random } from '../domain/random';
import type { Log } from './log';
import type { Metrics } from './metrics';

/** What every service gets besides its ports and its configuration. */
export interface Surroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** A started service. */
export interface Running {
  /** True when it can do its work now: connected, mirror caught up. Reason when not. */
  readiness(): { readonly ready: true } | { readonly ready: false; readonly reason: string };
  /** Stops taking work, finishes what it has, gives back what it holds. */
  close(): Promise<void>;
}
