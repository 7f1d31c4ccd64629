import { seededRandom } from '../../domain/random';
import type { RootColumns } from '../index/root-columns';
import type { PlacementView } from '../port/placement-view';
import { assignments, type Effort } from './assignments';
import { candidateOf, isPlain, isShared, keyOf, plainCandidate } from './candidate';
import { type Plan, planOf } from './plan';
import {
  type Candidate,
  type CandidateQuery,
  MAX_CANDIDATES,
  MAX_STEPS,
  MAX_STEPS_PER_ROOT,
  type SearchOptions,
} from './query';
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
 * Ways to meet a query, round-robin over the trees, so that a limit gives as many different roots as it can. No two are
 * the same (providers, amounts and mappings), also when a sharing provider meets everything for several trees.
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
  const candidates = plan === undefined ? [] : collect(plan, view, options, effort, columns);
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
  if (isPlain(plan, rootUuid)) {
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
  for (const chosen of assignments(problem, settings, effort)) yield candidateOf(problem, chosen);
}

/** Searches that are kept for the second round. */
const MAX_WAITING = 64;

/**
 * One candidate of each tree in each round. A search that waits for the next round holds its whole tree in memory, and
 * with a limit most never get there: so beyond a few it is dropped, and started again when there is a second round.
 */
function collect(
  plan: Plan,
  view: PlacementView,
  options: SearchOptions,
  effort: Effort,
  columns: RootColumns | undefined,
): Candidate[] {
  const limit = Math.min(options.limit ?? MAX_CANDIDATES, MAX_CANDIDATES);
  const maxSteps = options.maxSteps ?? MAX_STEPS;
  const found: Candidate[] = [];
  const seen = new Set<string>();
  const isSpent = () => found.length === limit || effort.steps >= maxSteps;
  /** Adds the next candidate that is new; how many the search yielded for it, 0 when there is none. */
  const takeNext = (search: Generator<Candidate>): number => {
    let passed = 0;
    for (let next = search.next(); next.done !== true; next = search.next()) {
      passed++;
      if (isShared(plan, next.value) && !isNew(seen, keyOf(next.value))) continue;
      found.push(next.value);
      return passed;
    }
    return 0;
  };
  let searches: Generator<Candidate>[] = [];
  for (const root of rootsFor(plan, view, options.seed, columns)) {
    if (isSpent()) return cut(found, effort);
    const search = candidatesInTree(plan, root, options, effort);
    const passed = takeNext(search);
    if (passed === 0 || isPlain(plan, root)) continue;
    searches.push(
      searches.length < MAX_WAITING ? search : after(passed, candidatesInTree(plan, root, options, effort)),
    );
  }
  while (searches.length > 0) {
    const round = searches;
    searches = [];
    for (const search of round) {
      if (isSpent()) return cut(found, effort);
      if (takeNext(search) > 0) searches.push(search);
    }
  }
  return found;
}

/** What a search yields after its first `passed` candidates. It starts when it is first asked. */
function* after(passed: number, search: Generator<Candidate>): Generator<Candidate> {
  for (let i = 0; i < passed; i++) search.next();
  yield* search;
}

function cut(found: Candidate[], effort: Effort): Candidate[] {
  effort.isComplete = false;
  return found;
}

function isNew(seen: Set<string>, key: string): boolean {
  return seen.size !== seen.add(key).size;
}
