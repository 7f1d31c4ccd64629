import type { HostSet } from '../fleet/host-domains';
import type { HostState } from '../fleet/host-state';
import type { LocatedRequest } from '../fleet/located-request';
import type { EquivalenceClass } from '../request/equivalence-class';

/** Why a host is refused: a value, not an error. */
export interface Reason {
  /** Stable; programs count and compare it: `capacity_vcpu`. */
  readonly symbol: string;
  /** Completes "14 hosts ...": `lack free VCPU`. */
  readonly phrase: string;
}

/** One thing that a filter checks of a host, prepared for one equivalence class. A pure function of the host, and cheap. */
export interface Check {
  /** Why the host is refused; undefined when it passes. It runs for every host of the fleet. */
  refuse(host: HostState): Reason | undefined;
  /** The host's facts beside the request's: "wants 8 VCPU, 2 of 16 free". For diagnoses asked for by people. */
  describe(host: HostState): string;
}

/** A filter whose answer depends on the host and the request's equivalence class, so that it is kept for the whole class. */
export interface ClassFilter {
  readonly kind: 'class';
  readonly name: string;
  /** True if a refused host is no place for the request, free or not: such hosts form no domain to spread over. */
  readonly saysWhere?: true;
  /** The checks that this class needs; none when it asks for nothing that the filter looks at. */
  prepare(equivalenceClass: EquivalenceClass, settings: FilterSettings): readonly Check[];
}

/** A filter by what a single request names: hosts, instances, a server group. */
export interface RequestFilter {
  readonly kind: 'request';
  readonly name: string;
  prepare(request: LocatedRequest): Constraint | undefined;
}

export type Filter = ClassFilter | RequestFilter;

/** Hosts by their index: only these, or all but these. */
export interface Constraint {
  readonly kind: 'only' | 'except';
  readonly hosts: HostSet;
  readonly reason: Reason;
  /** Why a host is refused that is refused. */
  describe(host: HostState): string;
}

/** Filter settings of operators. */
export interface FilterSettings {
  readonly maxInstancesPerHost: number;
  readonly maxBuildsPerHost: number;
}

/** True if a constraint lets a host through. */
export function allows(constraint: Constraint, index: number): boolean {
  return constraint.hosts.has(index) === (constraint.kind === 'only');
}
