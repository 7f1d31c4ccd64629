import type { Allocations } from '../../domain/consumer';
import type { RequestGroup } from '../../domain/request-spec';

/**
 * What must be found, as GET /allocation_candidates of Placement asks it (microversion 1.39). The HTTP API makes one from
 * a query string, the scheduler from a request spec (`from-request-spec`).
 *
 * The search takes names as they come: a trait, class or aggregate that nobody has matches nothing, and so does an
 * `inTree` that does not exist. Whoever must refuse unknown names, orphaned or doubled groups does so before.
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
  /** Of the providers that meet the groups of each list, one must be an ancestor of all others. */
  readonly sameSubtrees: readonly (readonly string[])[];
  /** Traits that the root of the tree must have, each of them. */
  readonly rootRequiredTraits: readonly string[];
  /** Traits that the root of the tree must not have. */
  readonly rootForbiddenTraits: readonly string[];
}

/** One way to meet a query. */
export interface Candidate {
  /** The root of the tree that it is for. All providers are of this tree or share with it. */
  readonly rootUuid: string;
  /** What a claim takes: amounts by provider and class. */
  readonly allocations: Allocations;
  /** The providers that meet each group, by suffix. */
  readonly mappings: Readonly<Record<string, readonly string[]>>;
}

export interface SearchOptions {
  /** At most this many candidates, ≥ 1. {@link MAX_CANDIDATES} when not given. */
  readonly limit?: number;
  /**
   * Whether a candidate may use several providers of one tree. False is what clients before microversion 1.29 know.
   * Default true.
   */
  readonly nestedAware?: boolean;
  /**
   * - `every` lists each candidate, as Placement does (the default)
   * - `distinct` leaves out those that differ from one listed only by swapping alike devices or alike groups
   */
  readonly symmetry?: 'every' | 'distinct';
  /** At most this many candidates of one root; no bound when not given. */
  readonly maxPerRoot?: number;
  /** Where to begin and in which order, for random order that can be had again. In the view's order when not given. */
  readonly seed?: number;
  /** At most this many steps in one tree, so that no query can hold the process. {@link MAX_STEPS_PER_ROOT} when not given. */
  readonly maxStepsPerRoot?: number;
  /** At most about this many steps in all. {@link MAX_STEPS} when not given. */
  readonly maxSteps?: number;
}

/** The most candidates that one search gives. */
export const MAX_CANDIDATES = 100_000;

/** Steps (providers tried) in one tree before the search gives it up: about a second's work. */
export const MAX_STEPS_PER_ROOT = 250_000;

/** Steps in all trees of one search before it ends with what it has: some seconds' work. */
export const MAX_STEPS = 1_000_000;
