import { seededRandom } from '../../domain/random';
import type { PlacementView } from '../view';
import { type Need, namedRoots, needsOf } from './needs';
import type { Plan } from './plan';
import type { RootColumns } from './root-columns';
import { walk } from './walk';

/** Looking at a tree costs about as much as passing this many rows of a column. */
const ROWS_PER_TREE = 256;

/**
 * Roots of trees that may have candidates, each once, lazily: from the smallest index that must know them (a rare trait,
 * a small aggregate), or where all indexes are large from the columns, if there are any. With a seed, in an order of
 * its own.
 */
export function rootsFor(plan: Plan, seed: number | undefined, columns: RootColumns | undefined): Iterable<string> {
  const named = namedRoots(plan);
  if (named.length > 0) return named.length === 1 ? named : [];
  const needs = needsOf(plan);
  const smallest = smallestIndex(plan.view, needs);
  const isSmall = smallest !== undefined && sizeOf(smallest) * ROWS_PER_TREE <= plan.view.providerCount;
  if (columns !== undefined && !isSmall) return columns.roots(needs, seed);
  const roots = smallest === undefined ? allRoots(plan.view) : rootsOf(plan.view, smallest);
  return seed === undefined ? roots : inOrder([...roots], seed);
}

/** Sets whose union has a provider of each tree that can have candidates. */
type Index = readonly ReadonlySet<string>[];

function smallestIndex(view: PlacementView, needs: readonly Need[]): Index | undefined {
  const indexes = needs.map(({ kind, of }) => of.map((name) => indexOf(view, kind, name)));
  let smallest = indexes[0];
  for (const index of indexes) if (smallest !== undefined && sizeOf(index) < sizeOf(smallest)) smallest = index;
  return smallest;
}

function indexOf(view: PlacementView, kind: Need['kind'], name: string): ReadonlySet<string> {
  switch (kind) {
    case 'class':
      return view.providersWithClass(name);
    case 'trait':
      return view.providersWithTrait(name);
    case 'aggregate':
      return view.membersOf(name);
  }
}

function sizeOf(index: Index): number {
  return index.reduce((size, set) => size + set.size, 0);
}

function* rootsOf(view: PlacementView, index: Index): Generator<string> {
  const seen = new Set<string>();
  for (const set of index) {
    for (const uuid of set) {
      const root = view.provider(uuid)?.rootUuid;
      if (root === undefined || seen.has(root)) continue;
      seen.add(root);
      yield root;
    }
  }
}

function* allRoots(view: PlacementView): Generator<string> {
  for (const provider of view.providers()) if (provider.parentUuid === undefined) yield provider.uuid;
}

function* inOrder(roots: readonly string[], seed: number): Generator<string> {
  for (const place of walk(roots.length, seededRandom(seed))) yield roots[place] as string;
}
