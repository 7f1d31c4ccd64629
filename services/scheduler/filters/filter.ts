import type { FleetFacts } from '../fleet/columns';
import type { HostState } from '../fleet/host-state';
import type { Shape } from '../ranking/shape';
import type { PlacementRequest } from '../select/placement-request';

/** Why a host is refused: a value, not an error. */
export interface Reason {
  /** Stable; programs count and compare it: `capacity_vcpu`. */
  readonly symbol: string;
  /** Completes "14 hosts ...": `have too little VCPU free`. */
  readonly phrase: string;
}

/** One thing that a filter checks of a host, prepared for one request shape. Pure, and cheap: it runs for every host. */
export interface Check {
  /** Why the host is refused; undefined when it passes. The same reason is the same object each time. */
  refuse(host: HostState): Reason | undefined;
  /** How the host stands to the check, with the facts: "wants 8 VCPU, 2 of 16 free". Only for people who ask. */
  describe(host: HostState): string;
}

/** A filter whose answer depends on the host and the request's shape, so that it is kept for all requests alike. */
export interface ShapeFilter {
  readonly kind: 'shape';
  readonly name: string;
  /** The checks that this shape needs; none when it asks for nothing that the filter looks at. */
  prepare(shape: Shape, facts: FleetFacts, settings: FilterSettings): readonly Check[];
}

/** A filter that names hosts, or finds them by other instances: its answer belongs to one request. */
export interface PersonalFilter {
  readonly kind: 'personal';
  readonly name: string;
  prepare(request: PlacementRequest): Constraint | undefined;
}

export type Filter = ShapeFilter | PersonalFilter;

/** Hosts named by their index: only these, or all but these. */
export interface Constraint {
  readonly kind: 'only' | 'except';
  readonly hosts: ReadonlySet<number>;
  readonly reason: Reason;
  /** Why a host that is refused is so. */
  describe(host: HostState): string;
}

/** What operators set for filters. */
export interface FilterSettings {
  readonly maxInstancesPerHost: number;
  readonly maxBuildsPerHost: number;
  readonly aggregateFacts: AggregateFacts;
}

/** Facts of aggregates, by their uuid: names to values. */
export type AggregateFacts = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>;

/** Whether a constraint lets a host through. */
export function allows(constraint: Constraint, index: number): boolean {
  return constraint.hosts.has(index) === (constraint.kind === 'only');
}
