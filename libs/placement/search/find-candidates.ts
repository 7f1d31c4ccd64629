import { seededRandom } from '../../domain/random';
import type { RootColumns } from '../index/root-columns';
import type { PlacementView } from '../port/placement-view';
import { assignments, type Effort } from './assignments';
import { candidateOf, isPlain, isShared, keyOf, plainCandidate } from './candidate';
import type { First, KeptCandidates } from './kept-candidates';
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

/** What a process keeps beside its view, to search it sooner. */
export interface SearchAids {
  readonly columns?: RootColumns;
  readonly kept?: KeptCandidates;
}

/**
 * Ways to meet a query, round-robin over the trees, so that a limit gives as many different roots as it can. No two are
 * the same (providers, amounts and mappings), also when a sharing provider meets everything for several trees.
 * `columns` makes it fast on large fleets, `kept` where the same is asked again; the answer is the same without.
 */
export function findCandidates(
  view: PlacementView,
  query: CandidateQuery,
  options: SearchOptions = {},
  { columns, kept }: SearchAids = {},
): SearchResult {
  const plan = planOf(view, query);
  const effort: Effort = { steps: 0, isComplete: true };
  const firsts = kept?.firstsOf(query, options);
  const candidates = plan === undefined ? [] : collect(plan, view, options, effort, { columns, firsts });
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
  { columns, firsts }: { readonly columns: RootColumns | undefined; readonly firsts: Map<string, First> | undefined },
): Candidate[] {
  const limit = Math.min(options.limit ?? MAX_CANDIDATES, MAX_CANDIDATES);
  const maxSteps = options.maxSteps ?? MAX_STEPS;
  const found: Candidate[] = [];
  const seen = new Set<string>();
  const isSpent = () => found.length === limit || effort.steps >= maxSteps;
  const searchIn = (root: string) => candidatesInTree(plan, root, options, effort);
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
  const waiting: Waiting[] = [];
  let heldCount = 0;
  /** The first of a tree, and with it the place in the second round of one that may have more. */
  const takeFirst = (root: string): First => {
    const stepsBefore = effort.steps;
    const search = searchIn(root);
    const passed = takeNext(search);
    const mayHaveMore = passed > 0 && !isPlain(plan, root);
    if (mayHaveMore && heldCount < MAX_WAITING) {
      heldCount++;
      waiting.push(() => search);
    } else if (mayHaveMore) waiting.push(() => after(passed, searchIn(root)));
    return { candidate: passed > 0 ? found.at(-1) : undefined, mayHaveMore, steps: effort.steps - stepsBefore };
  };
  const takeKept = (root: string, { candidate, mayHaveMore, steps }: First) => {
    effort.steps += steps;
    if (candidate !== undefined) found.push(candidate);
    if (mayHaveMore) waiting.push(() => after(1, searchIn(root)));
  };
  for (const root of rootsFor(plan, view, options.seed, columns)) {
    if (isSpent()) return cut(found, effort);
    const known = firsts?.get(root);
    if (known !== undefined) takeKept(root, known);
    else {
      const first = takeFirst(root);
      if (effort.isComplete) firsts?.set(root, first);
    }
  }
  let searches: Generator<Candidate>[] = [];
  for (const start of waiting) {
    if (isSpent()) return cut(found, effort);
    const search = start();
    if (takeNext(search) > 0) searches.push(search);
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

/** The search of a tree that comes again in the second round. */
type Waiting = () => Generator<Candidate>;

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
