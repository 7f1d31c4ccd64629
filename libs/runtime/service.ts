import type { Clock } from '../domain/clock';
import type { Random } from '../domain/random';
import type { Log } from './log';
import type { Metrics } from './metrics';

/** Common dependencies of all services, besides ports and configuration. */
export interface RuntimeDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
}

export type Readiness = { readonly ready: true } | { readonly ready: false; readonly reason: string };

/** A started service. */
export interface Running {
  /** Ready when it can work: connected, mirror caught up. Else with the reason. */
  readiness(): Readiness;
  /** JSON documents of the operations endpoint, by path. */
  readonly documents?: Readonly<Record<string, () => object>> | undefined;
  /** Takes no new work, finishes the present work, releases its resources. */
  close(): Promise<void>;
}

/** The first of several states that is not ready. */
export function firstUnready(...states: readonly Readiness[]): Readiness {
  return states.find(({ ready }) => !ready) ?? { ready: true };
}
