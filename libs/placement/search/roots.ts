import { seededRandom } from '../../domain/random';
import type { Need, RootColumns } from '../index/root-columns';
import { walk } from '../index/walk';
import type { PlacementView } from '../port/placement-view';
import { hasAnyOf } from './fit';
import { type Choice, isSpread, type Plan } from './plan';

/** Looking at a tree costs about as much as passing this many rows of a column. */
const ROWS_PER_TREE = 256;

/**
 * Roots of trees that may have candidates, each once, lazily: from the smallest index that covers them (a rare trait, a
 * small aggregate), or where all indexes are large from the columns, if there are any. With a seed, in a random order.
 */
export function rootsFor(
  plan: Plan,
  view: PlacementView,
  seed: number | undefined,
  columns: RootColumns | undefined,
): IterableIterator<string> {
  const named = namedRoots(plan);
  if (named.length > 0) return (named.length === 1 ? named : []).values();
  const needs = needsOf(plan);
  const smallest = smallestIndex(view, needs);
  const isSmall = smallest !== undefined && sizeOf(smallest) * ROWS_PER_TREE <= view.providerCount;
  if (columns !== undefined && !isSmall) return columns.roots(needs, seed);
  const roots = smallest === undefined ? allRoots(view) : rootsOf(view, smallest);
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

/**
 * Requirements of every tree that can meet the plan. They exclude trees early and none wrongly: anything that a sharing
 * provider might bring is not required.
 */
export function needsOf({ query, choices, spreadGroup }: Plan): Need[] {
  const needs: Need[] = [];
  const presence = (kind: 'trait' | 'aggregate', lists: readonly (readonly string[])[]) =>
    needs.push(...lists.map((of) => ({ kind, of, atLeast: 1 })));
  presence(
    'trait',
    query.rootRequiredTraits.map((trait) => [trait]),
  );
  const own = choices.filter(({ sharers }) => sharers.length === 0);
  for (const { resourceClass, amount } of own.flatMap(({ demands }) => demands))
    needs.push({ kind: 'class', of: [resourceClass], atLeast: amount });
  for (const { group } of own.filter((choice) => !isSpread(choice.group))) {
    presence('trait', group.requiredTraits);
    presence('aggregate', group.memberOf);
  }
  if (spreadGroup !== undefined) {
    const spread = choices.filter((choice) => isSpread(choice.group));
    presence(
      'trait',
      spreadGroup.requiredTraits.filter((anyOf) => !isShared(spread, anyOf)),
    );
    if (spread.some((choice) => own.includes(choice))) presence('aggregate', spreadGroup.memberOf);
  }
  return needs;
}

/** The trees that the query names with `in_tree`; a plan with two different ones can't be met. */
export function namedRoots({ choices }: Plan): readonly string[] {
  const roots = choices.flatMap(({ inTreeRoot, sharers }) =>
    inTreeRoot !== undefined && sharers.length === 0 ? [inTreeRoot] : [],
  );
  return [...new Set(roots)];
}

function isShared(spread: readonly Choice[], anyOf: readonly string[]): boolean {
  return spread.some(({ sharers }) => sharers.some(({ traits }) => hasAnyOf(traits, anyOf)));
}
