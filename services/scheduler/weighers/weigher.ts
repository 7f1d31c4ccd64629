import type { Prices } from '../demand/prices';
import type { HostState } from '../fleet/host-state';
import type { LocatedRequest } from '../fleet/located-request';
import type { EquivalenceClass } from '../request/equivalence-class';

/**
 * A host's merit in one respect, as a raw number in natural units. The framework brings it to 0..1 between `lower`
 * and `upper` (beyond them it is 0 or 1) and multiplies with the configured weight. Bounds do not come from the hosts
 * that happen to pass, as in Nova, so that a host's weight changes only when the host does; that is what keeps ranks
 * incremental.
 */
export interface Measure {
  readonly lower: number;
  readonly upper: number;
  /**
   * A pure function of the host, and cheap: it runs for every host.
   *
   * @param found  the preferred classes that the candidate search found a way to take there; undefined before it has run,
   *   and for hosts that need none
   */
  raw(host: HostState, found?: readonly string[]): number;
}

/** A weigher whose number depends on the host and the request's equivalence class. */
export interface ClassWeigher {
  readonly kind: 'class';
  readonly name: string;
  /** True if it uses prices, which are made only where such a weigher has a weight. */
  readonly usesPrices?: true;
  /** Undefined when the class asks for nothing that the weigher looks at. Another price makes another measure. */
  prepare(equivalenceClass: EquivalenceClass, prices: Prices): Measure | undefined;
}

/** A weigher that looks at other members of a request's group: most hosts have none of them. */
export interface RequestWeigher {
  readonly kind: 'request';
  readonly name: string;
  prepare(request: LocatedRequest): RequestMeasure | undefined;
}

export interface RequestMeasure {
  readonly lower: number;
  readonly upper: number;
  /** Raw numbers by host index; all other hosts have 0. */
  readonly raw: ReadonlyMap<number, number>;
}

export type Weigher = ClassWeigher | RequestWeigher;

/** A raw number between its bounds, as 0..1. */
export function normalise(raw: number, lower: number, upper: number): number {
  if (upper <= lower) return 0;
  const share = (raw - lower) / (upper - lower);
  return share > 0 ? Math.min(1, share) : 0;
}
