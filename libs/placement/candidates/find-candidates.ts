import { seededRandom } from '../../domain/random';
import type { PlacementView } from '../view';
import { assignments, type Effort } from './assignments';
import { candidateOf, isShared, keyOf } from './candidate';
import { isPlain, plainCandidate } from './plain';
import { type Plan, planOf } from './plan';
import {
  type Candidate,
  type CandidateQuery,
  MAX_CANDIDATES,
  MAX_STEPS,
  MAX_STEPS_PER_ROOT,
  type SearchOptions,
} from './query';
import type { RootColumns } from './root-columns';
import { rootsFor } from './roots';
import { problemOf } from './tree-problem';

export interface SearchResult {
  readonly candidates: readonly Candidate[];
  /** False when a limit ended the search before it had seen everything. */
  readonly isComplete: boolean;
  /** Providers tried, in all trees: what the search cost. */
  readonly steps: number;
}

/**
 * Ways to meet a query, fairly: one of each tree in turn, so that a limit gives as many different roots as it can. No
 * two are the same (providers, amounts and mappings), also when a sharing provider meets all for several trees.
 * `columns` makes it fast on large fleets; the answer is the same without.
 */
export function findCandidates(
  view: PlacementView,
  query: CandidateQuery,
  options: SearchOptions = {},
  columns?: RootColumns,
): SearchResult {
  const plan = planOf(view, query);
  const effort: Effort = { steps: 0, isComplete: true };
  const candidates = plan === undefined ? [] : collect(plan, options, effort, columns);
  return { candidates, isComplete: effort.isComplete, steps: effort.steps };
}

/** Ways to meet a plan in one tree and what is shared with it, lazily. The view must not change in between. */
export function* candidatesInTree(
  plan: Plan,
  rootUuid: string,
  options: SearchOptions = {},
  effort: Effort = { steps: 0, isComplete: true },
): Generator<Candidate> {
  const root = plan.view.provider(rootUuid);
  if (root === undefined || root.rootUuid !== rootUuid) return;
  if (isPlain(plan) && plan.view.children(rootUuid).size === 0) {
    const candidate = plainCandidate(plan, root);
    if (candidate !== undefined) yield candidate;
    return;
  }
  const random = options.seed === undefined ? undefined : seededRandom(options.seed);
  const problem = problemOf(plan, rootUuid, random);
  if (problem === undefined) return;
  const settings = {
    nestedAware: options.nestedAware ?? true,
    symmetry: options.symmetry ?? 'every',
    maxSteps: options.maxStepsPerRoot ?? MAX_STEPS_PER_ROOT,
  };
  let left = options.maxPerRoot ?? Number.POSITIVE_INFINITY;
  for (const chosen of assignments(problem, settings, effort)) {
    yield candidateOf(problem, chosen);
    if (--left <= 0) return;
  }
}

function collect(plan: Plan, options: SearchOptions, effort: Effort, columns: RootColumns | undefined): Candidate[] {
  const limit = Math.min(options.limit ?? MAX_CANDIDATES, MAX_CANDIDATES);
  const maxSteps = options.maxSteps ?? MAX_STEPS;
  const found: Candidate[] = [];
  const seen = new Set<string>();
  let turns: Generator<Candidate>[] = [];
  const isSpent = () => found.length === limit || effort.steps >= maxSteps;
  const takeTurn = (search: Generator<Candidate>) => {
    for (let next = search.next(); next.done !== true; next = search.next()) {
      if (isShared(plan, next.value) && !isNew(seen, keyOf(next.value))) continue;
      found.push(next.value);
      turns.push(search);
      return;
    }
  };
  for (const root of rootsFor(plan, options.seed, columns)) {
    if (isSpent()) return cut(found, effort);
    takeTurn(candidatesInTree(plan, root, options, effort));
  }
  while (turns.length > 0) {
    const round = turns;
    turns = [];
    for (const search of round) {
      if (isSpent()) return cut(found, effort);
      takeTurn(search);
    }
  }
  return found;
}

function cut(found: Candidate[], effort: Effort): Candidate[] {
  effort.isComplete = false;
  return found;
}

function isNew(seen: Set<string>, key: string): boolean {
  return seen.size !== seen.add(key).size;
}
