import { ChangedTrees } from '../index/changed-trees';
import type { PlacementView } from '../port/placement-view';
import type { Candidate, CandidateQuery, SearchOptions } from './query';

/** The first candidate of a tree for a query, or none. */
export interface First {
  readonly candidate: Candidate | undefined;
  /** True if the tree may have more of them. */
  readonly mayHaveMore: boolean;
  /** Steps that finding it took. */
  readonly steps: number;
}

/** Queries of which candidates are kept; the one that was not asked for the longest goes. */
const MAX_QUERIES = 64;
/** Trees of all these queries together, some 500 bytes for each eight groups. */
const MAX_TREES = 200_000;
const GROUPS_OF_TREE = 8;

/**
 * The first candidate of each tree, for the queries asked lately.
 *
 * The naive way searches every tree at every question. A thousand candidates of a fleet of trees are a thousand searches, 40 ms,
 * and clients ask with few flavors, again and again, while between two questions a few hosts have changed. So what was found in a
 * tree is kept by query, as schedulers keep hosts ranked by equivalence class, and only trees that changed are searched again.
 * Price: memory, within the limits above; the first query of a kind is as slow as before.
 *
 * Nothing is kept for queries whose answer depends on more than the tree: where there are sharing providers, with a random
 * order, with `in_tree`.
 */
export class KeptCandidates {
  readonly #view: PlacementView;
  readonly #changes: ChangedTrees;
  /** In the order of their last use. */
  readonly #byQuery = new Map<string, Map<string, First>>();
  readonly #weightOf = new WeakMap<Map<string, First>, number>();

  constructor(view: PlacementView) {
    this.#view = view;
    this.#changes = new ChangedTrees(view);
  }

  /** Candidates kept for a query, by root, to read and to add to until the view changes; undefined for a query not kept. */
  firstsOf(query: CandidateQuery, options: SearchOptions): Map<string, First> | undefined {
    this.#catchUp();
    const { seed, nestedAware = true, symmetry = 'every', maxStepsPerRoot } = options;
    const isOfTree = query.groups.every(({ inTree }) => inTree === undefined);
    if (seed !== undefined || !isOfTree || this.#view.sharingProviders().size > 0) return undefined;
    const key = JSON.stringify([query, nestedAware, symmetry, maxStepsPerRoot]);
    const firsts = this.#byQuery.get(key) ?? new Map<string, First>();
    this.#weightOf.set(firsts, Math.ceil(query.groups.length / GROUPS_OF_TREE));
    this.#byQuery.delete(key);
    this.#byQuery.set(key, firsts);
    this.#forgetOldest();
    return firsts;
  }

  close(): void {
    this.#changes.close();
  }

  #catchUp(): void {
    const changed = this.#changes.take();
    if (changed === 'all') this.#byQuery.clear();
    else for (const root of changed) for (const firsts of this.#byQuery.values()) firsts.delete(root);
  }

  /** The query that is asked now is the last to go. */
  #forgetOldest(): void {
    const weigh = (firsts: Map<string, First>) => firsts.size * (this.#weightOf.get(firsts) ?? 1);
    let treeCount = 0;
    for (const firsts of this.#byQuery.values()) treeCount += weigh(firsts);
    for (const [key, firsts] of this.#byQuery) {
      if (this.#byQuery.size <= MAX_QUERIES && treeCount <= MAX_TREES) return;
      this.#byQuery.delete(key);
      treeCount -= weigh(firsts);
    }
  }
}
