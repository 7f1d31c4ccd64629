import type { FleetFacts } from '../fleet/columns';
import type { HostState } from '../fleet/host-state';
import type { Shape } from '../ranking/shape';
import type { PlacementRequest } from '../select/placement-request';

/**
 * How good a host is in one respect, as a raw number in natural units. The framework brings it to 0..1 between `lower`
 * and `upper` (beyond them it is 0 or 1) and multiplies with the configured weight. Bounds do not come from the hosts
 * that happen to pass, so that a host's weight changes only when the host does; that is what keeps ranks incremental.
 */
export interface Measure {
  readonly lower: number;
  readonly upper: number;
  /** Pure and cheap: it runs for every host. */
  raw(host: HostState): number;
}

/** A weigher whose number depends on the host and the request's shape. */
export interface ShapeWeigher {
  readonly kind: 'shape';
  readonly name: string;
  /** Undefined when the shape asks for nothing that the weigher looks at. */
  prepare(shape: Shape, facts: FleetFacts): Measure | undefined;
}

/** A weigher that looks at other instances: most hosts have none of them and weigh `elsewhere`. */
export interface PersonalWeigher {
  readonly kind: 'personal';
  readonly name: string;
  prepare(request: PlacementRequest): PersonalMeasure | undefined;
}

export interface PersonalMeasure {
  readonly lower: number;
  readonly upper: number;
  /** Raw numbers by host index; all other hosts have 0. */
  readonly raw: ReadonlyMap<number, number>;
}

export type Weigher = ShapeWeigher | PersonalWeigher;

/** A raw number between its bounds, as 0..1. */
export function normalise(raw: number, lower: number, upper: number): number {
  if (upper <= lower) return 0;
  const share = (raw - lower) / (upper - lower);
  return share > 0 ? Math.min(1, share) : 0;
}
