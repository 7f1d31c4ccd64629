import type { Allocations } from '../../domain/consumer';
import type { RequestGroup, RequestSpec } from '../../domain/request-spec';

/**
 * A query for candidates, as GET /allocation_candidates of Placement (microversion 1.39). The HTTP API makes one from
 * a query string, the scheduler from a request spec ({@link queryFromRequestSpec}).
 *
 * The search does not check names: a trait, class or aggregate that no provider has matches nothing, and so does an
 * `inTree` that does not exist. Callers that must refuse unknown names, orphaned or duplicate groups do so before.
 */
export interface CandidateQuery {
  /**
   * At least one, suffixes distinct, at least one with resources. The group with suffix '' may be spread over the
   * providers of a tree and those that share with it; its required traits may be found on any provider it uses, its
   * forbidden ones on none, and an aggregate of a root counts for the whole tree. Every other group is met by one
   * provider, by itself. A group without resources is met by any provider that its traits and aggregates describe.
   */
  readonly groups: readonly RequestGroup[];
  /** With `isolate`, no two groups with a suffix are met by the same provider. */
  readonly groupPolicy: 'none' | 'isolate';
  /** For each list, one of the providers that meet its groups must be an ancestor of all others. */
  readonly sameSubtrees: readonly (readonly string[])[];
  /** Berth's own, of request specs only. */
  readonly near?: Nearness | undefined;
  /** Traits that the root of the tree must have, each of them. */
  readonly rootRequiredTraits: readonly string[];
  /** Traits that the root of the tree must not have. */
  readonly rootForbiddenTraits: readonly string[];
}

/** Groups, by suffix, whose providers are at or below a provider of some other groups. */
export interface Nearness {
  readonly groups: readonly string[];
  /** Any of these. */
  readonly to: readonly string[];
  /** True if a provider that is below no NUMA node will do as well. */
  readonly mayBeAway: boolean;
}

/** One way to meet a query. */
export interface Candidate {
  /** The root of the tree that it is for. All providers are of this tree or share with it. */
  readonly rootUuid: string;
  /** Allocations of a claim: amounts by provider and class. */
  readonly allocations: Allocations;
  /** The providers that meet each group, by suffix. */
  readonly mappings: Readonly<Record<string, readonly string[]>>;
}

export interface SearchOptions {
  /** At most this many candidates, ≥ 1. {@link MAX_CANDIDATES} when not given. */
  readonly limit?: number;
  /**
   * True if a candidate may use several providers of one tree; clients before microversion 1.29 know only one.
   * Default true.
   */
  readonly nestedAware?: boolean;
  /**
   * - `every` lists each candidate, as Placement does (the default)
   * - `distinct` leaves out those that differ from a listed one only by swapping symmetric devices or groups
   */
  readonly symmetry?: 'every' | 'distinct';
  /** For a random order that can be repeated. In the view's order when not given. */
  readonly seed?: number;
  /** At most this many steps in one tree, so that no query can hold the process. {@link MAX_STEPS_PER_ROOT} when not given. */
  readonly maxStepsPerRoot?: number;
  /** At most about this many steps in all. {@link MAX_STEPS} when not given. */
  readonly maxSteps?: number;
}

/** The most candidates that one search gives. */
export const MAX_CANDIDATES = 100_000;

/** Steps (providers tried) in one tree before the search abandons it: about a second's work. */
export const MAX_STEPS_PER_ROOT = 250_000;

/** Steps in all trees of one search before it ends with the candidates found so far: some seconds' work. */
export const MAX_STEPS = 1_000_000;

/** A request spec's demand on providers. Preferences, host names and all that filters read are not in it. */
export function queryFromRequestSpec(spec: Asked): CandidateQuery {
  const ownGroup = {
    suffix: '',
    resources: spec.resources,
    requiredTraits: spec.requiredTraits.map((trait) => [trait]),
    forbiddenTraits: spec.forbiddenTraits,
    memberOf: spec.memberOf,
    forbiddenAggregates: spec.forbiddenAggregates,
    inTree: undefined,
  };
  return {
    groups: [ownGroup, ...spec.requestGroups],
    groupPolicy: spec.groupPolicy,
    sameSubtrees: spec.sameSubtrees,
    rootRequiredTraits: spec.rootRequiredTraits,
    rootForbiddenTraits: spec.rootForbiddenTraits,
  };
}

/** The part of a request spec that is for providers to meet. */
type Asked = Pick<RequestSpec, keyof RequestSpec & (keyof CandidateQuery | keyof RequestGroup | 'requestGroups')>;
