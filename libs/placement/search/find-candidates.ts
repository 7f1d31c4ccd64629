import { seededRandom } from '../../domain/random';
import type { RootColumns } from '../index/root-columns';
import type { PlacementView } from '../port/placement-view';
import { assignments, type Effort, USUAL_DOMAINS_SIZE } from './assignments';
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
  /** The first so many are of as many roots. */
  readonly rootCount: number;
  /** False when a limit ended the search before it had seen everything. */
  readonly isComplete: boolean;
  /** Providers tried, in all trees: what the search cost. */
  readonly steps: number;
}

/** Indexes that a process keeps beside its view, to search faster. */
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
  aids: SearchAids = {},
): SearchResult {
  const search = searchFor(view, query, options, aids);
  return search.next().value as SearchResult;
}

/** The turns that a long search leaves to others. */
export interface Turns {
  /** Asked after each step, tree and candidate, whatever it cost; false for a while after a pause. */
  readonly isPauseDue: () => boolean;
  readonly pause: () => Promise<unknown>;
}

/**
 * Like `findCandidates`, with pauses in which others have a turn and the view may change: candidates of trees looked at later are
 * of the later state, and those whose providers are gone are left out.
 */
export async function findCandidatesInTurns(
  view: PlacementView,
  query: CandidateQuery,
  options: SearchOptions,
  aids: SearchAids & Turns,
): Promise<SearchResult> {
  const search = searchFor(view, query, options, aids);
  let hasPaused = false;
  for (;;) {
    const { done, value } = search.next();
    if (done === true) return hasPaused ? withoutGone(view, value) : value;
    hasPaused = true;
    await aids.pause();
  }
}

/** The search, which yields where others may have a turn. */
function* searchFor(
  view: PlacementView,
  query: CandidateQuery,
  options: SearchOptions,
  aids: SearchAids & Partial<Turns>,
): Generator<undefined, SearchResult> {
  const plan = planOf(view, query);
  const effort: Effort = { steps: 0, isComplete: true, isPauseDue: aids.isPauseDue };
  const firsts = aids.kept?.firstsOf(query, options);
  const search = plan && collect(plan, options, effort, { view, columns: aids.columns, firsts });
  if (search === undefined) return { candidates: [], rootCount: 0, isComplete: true, steps: 0 };
  for (let next = search.next(); ; next = search.next()) {
    if (next.done === true) return { ...next.value, isComplete: effort.isComplete, steps: effort.steps };
    yield undefined;
  }
}

function withoutGone(view: PlacementView, result: SearchResult): SearchResult {
  const isThere = ({ allocations }: Candidate) => Object.keys(allocations).every((uuid) => view.provider(uuid));
  const { candidates, rootCount } = result;
  const firsts = candidates.slice(0, rootCount).filter(isThere);
  return {
    ...result,
    rootCount: firsts.length,
    candidates: [...firsts, ...candidates.slice(rootCount).filter(isThere)],
  };
}

/** Ways to meet a plan in one tree and what is shared with it, lazily. The view must not change in between. */
export function* candidatesInTree(
  plan: Plan,
  rootUuid: string,
  options: SearchOptions = {},
  effort: Effort = { steps: 0, isComplete: true },
): Generator<Candidate> {
  for (const candidate of searchTree(plan, rootUuid, options, effort)) if (candidate !== undefined) yield candidate;
}

/** As `candidatesInTree`; undefined stands for a pause that is due. */
function* searchTree(
  plan: Plan,
  rootUuid: string,
  options: SearchOptions,
  effort: Effort,
): Generator<Candidate | undefined> {
  const root = plan.view.provider(rootUuid);
  if (root === undefined || root.rootUuid !== rootUuid) return;
  if (isPlain(plan, rootUuid)) {
    const candidate = plainCandidate(plan, root);
    if (candidate !== undefined) yield candidate;
    return;
  }
  const random = options.seed === undefined ? undefined : seededRandom(options.seed);
  // Many groups look at many providers before there is a first step.
  const looks = plan.choices.length * plan.view.tree(rootUuid).length;
  if (looks > USUAL_DOMAINS_SIZE) effort.steps += Math.floor((looks - USUAL_DOMAINS_SIZE) / LOOKS_PER_STEP);
  const problem = problemOf(plan, rootUuid, random);
  if (problem === undefined) return;
  const settings = {
    nestedAware: options.nestedAware ?? true,
    symmetry: options.symmetry ?? 'every',
    maxSteps: options.maxStepsPerRoot ?? MAX_STEPS_PER_ROOT,
  };
  for (const chosen of assignments(problem, settings, effort)) yield chosen && candidateOf(problem, chosen);
}

/** Providers looked at for a domain in the time of a step. */
const LOOKS_PER_STEP = 16;

/** Searches that are kept for the second round. */
const MAX_WAITING = 64;

interface CollectFrom {
  readonly view: PlacementView;
  readonly columns: RootColumns | undefined;
  readonly firsts: Map<string, First> | undefined;
}

/**
 * One candidate of each tree in each round. A search that waits for the next round holds its whole tree in memory, and
 * with a limit most never get there: so beyond a few it is dropped, and started again when there is a second round.
 */
function* collect(plan: Plan, options: SearchOptions, effort: Effort, from: CollectFrom): Generator<undefined, Found> {
  const { view, columns, firsts: kept } = from;
  const limit = Math.min(options.limit ?? MAX_CANDIDATES, MAX_CANDIDATES);
  const maxSteps = options.maxSteps ?? MAX_STEPS;
  const found: Candidate[] = [];
  const seen = new Set<string>();
  let rootCount: number | undefined;
  const ended = (isWhole: boolean) => {
    effort.isComplete &&= isWhole;
    return { candidates: found, rootCount: rootCount ?? found.length };
  };
  const isSpent = () => found.length === limit || effort.steps >= maxSteps;
  const searchIn = (root: string) => searchTree(plan, root, options, effort);
  let firsts = kept;
  let isListed = false;
  let roots = rootsFor(plan, view, options.seed, columns);
  /** Indexes change in a pause, and a search begun before it is no search of the tree after it. */
  function* pause(): Generator<undefined, void> {
    if (!isListed) roots = [...roots].values();
    firsts = undefined;
    isListed = true;
    yield undefined;
  }
  /** Adds the next candidate that is new; how many the search yielded for it, 0 when there is none. */
  function* takeNext(search: Search): Generator<undefined, number> {
    let passed = 0;
    for (let next = search.next(); next.done !== true; next = search.next()) {
      if (next.value === undefined) {
        yield* pause();
        continue;
      }
      passed++;
      if (isShared(plan, next.value) && !isNew(seen, keyOf(next.value))) continue;
      found.push(next.value);
      return passed;
    }
    return 0;
  }
  const waiting: Waiting[] = [];
  let heldCount = 0;
  /** The first of a tree, and with it the place in the second round of one that may have more. */
  function* takeFirst(root: string): Generator<undefined, First> {
    const stepsBefore = effort.steps;
    const search = searchIn(root);
    const passed = yield* takeNext(search);
    const mayHaveMore = passed > 0 && !isPlain(plan, root);
    if (mayHaveMore && heldCount < MAX_WAITING) {
      heldCount++;
      waiting.push(() => search);
    } else if (mayHaveMore) waiting.push(() => after(passed, searchIn(root)));
    return { candidate: passed > 0 ? found.at(-1) : undefined, mayHaveMore, steps: effort.steps - stepsBefore };
  }
  const takeKept = (root: string, { candidate, mayHaveMore, steps }: First) => {
    effort.steps += steps;
    if (candidate !== undefined) found.push(candidate);
    if (mayHaveMore) waiting.push(() => after(1, searchIn(root)));
  };
  for (let next = roots.next(); next.done !== true; next = roots.next()) {
    const root = next.value;
    if (isSpent()) return ended(false);
    if (effort.isPauseDue?.() === true) yield* pause();
    const known = firsts?.get(root);
    if (known !== undefined) takeKept(root, known);
    else {
      const first = yield* takeFirst(root);
      if (effort.isComplete) firsts?.set(root, first);
    }
  }
  rootCount = found.length;
  return ended(yield* furtherRounds(waiting, { effort, isSpent, takeNext, pause }));
}

type Found = Pick<SearchResult, 'candidates' | 'rootCount'>;

interface Rounds {
  readonly effort: Effort;
  readonly isSpent: () => boolean;
  readonly takeNext: (search: Search) => Generator<undefined, number>;
  readonly pause: () => Generator<undefined, void>;
}

/** The rounds after the first; false when the search is spent before their end. */
function* furtherRounds(waiting: readonly Waiting[], rounds: Rounds): Generator<undefined, boolean> {
  const { effort, isSpent, takeNext, pause } = rounds;
  let searches: Search[] = [];
  for (const start of waiting) {
    if (isSpent()) return false;
    if (effort.isPauseDue?.() === true) yield* pause();
    const search = start();
    if ((yield* takeNext(search)) > 0) searches.push(search);
  }
  while (searches.length > 0) {
    const round = searches;
    searches = [];
    for (const search of round) {
      if (isSpent()) return false;
      if (effort.isPauseDue?.() === true) yield* pause();
      if ((yield* takeNext(search)) > 0) searches.push(search);
    }
  }
  return true;
}

type Search = Generator<Candidate | undefined>;

/** The search of a tree that comes again in the second round. */
type Waiting = () => Search;

/** The results of a search after its first `passed` candidates. It starts at the first `next`. */
function* after(passed: number, search: Search): Search {
  for (let left = passed; left > 0; ) {
    const { done, value } = search.next();
    if (done === true) return;
    if (value === undefined) yield value;
    else left--;
  }
  yield* search;
}

function isNew(seen: Set<string>, key: string): boolean {
  return seen.size !== seen.add(key).size;
}
