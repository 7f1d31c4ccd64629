import { availableIn } from '../../domain/inventory';
import type { Provider } from '../../domain/provider';
import { seededRandom } from '../../domain/random';
import type { PlacementView } from '../port/placement-view';
import { ChangedTrees } from './changed-trees';
import { walk } from './walk';

/** Something that some provider of a tree must have, because no provider shares it: any one of `of`, as much as `atLeast`. */
export interface Need {
  readonly kind: 'class' | 'trait' | 'aggregate';
  readonly of: readonly string[];
  /** A trait or an aggregate is there (1) or not (0). */
  readonly atLeast: number;
}

/** The most columns that are kept; the least recently used one goes. */
const MAX_COLUMNS = 128;

/**
 * The columnar index of a view: a row for each tree and a column for each thing that queries need of one, which is the
 * largest amount available of a class at any one of its providers, or whether any has a trait or is in an aggregate. A
 * search skips a full tree in nanoseconds, and the first ten of 100,000 hosts cost what they cost of 1,000.
 *
 * A column is an upper bound: it excludes no tree wrongly, and the search finds out whether the request really fits. Columns
 * are made when they are first needed and brought up to date, from the view's changes, when next needed.
 */
export class RootColumns {
  private readonly changes: ChangedTrees;
  private readonly rootUuids: string[] = [];
  private readonly rowOf = new Map<string, number>();
  private readonly columns = new Map<string, Column>();

  constructor(private readonly view: PlacementView) {
    this.changes = new ChangedTrees(view);
  }

  close(): void {
    this.changes.close();
  }

  /** Roots of the trees that have all that is needed, lazily; with a seed, in a random order. */
  *roots(needs: readonly Need[], seed?: number): Generator<string> {
    this.catchUp();
    const terms = needs.map(({ kind, of, atLeast }) => ({
      atLeast,
      columns: of.map((name) => this.column(kind, name).values),
    }));
    const hasAll = (row: number) => {
      for (const { columns, atLeast } of terms) if (!hasOne(columns, row, atLeast)) return false;
      return true;
    };
    const random = seed === undefined ? undefined : seededRandom(seed);
    for (const row of walk(this.rootUuids.length, random, hasAll)) yield this.rootUuids[row] as string;
  }

  private catchUp(): void {
    const changed = this.changes.take();
    if (changed === 'all') this.rebuild();
    else for (const root of changed) this.update(root);
  }

  private rebuild(): void {
    this.rootUuids.length = 0;
    this.rowOf.clear();
    this.columns.clear();
    for (const { uuid, parentUuid } of this.view.providers()) {
      if (parentUuid === undefined) this.rowOf.set(uuid, this.rootUuids.push(uuid) - 1);
    }
  }

  private update(root: string): void {
    if (this.view.provider(root)?.rootUuid !== root) return this.remove(root);
    let row = this.rowOf.get(root);
    if (row === undefined) {
      row = this.rootUuids.push(root) - 1;
      this.rowOf.set(root, row);
      for (const column of this.columns.values()) column.grow(row + 1);
    }
    const tree = this.view.tree(root);
    for (const column of this.columns.values()) column.values[row] = column.measure(tree);
  }

  /** The last row moves to where the removed one was. */
  private remove(root: string): void {
    const row = this.rowOf.get(root);
    if (row === undefined) return;
    const lastRow = this.rootUuids.length - 1;
    const lastRoot = this.rootUuids.pop() as string;
    this.rowOf.delete(root);
    if (row === lastRow) return;
    this.rootUuids[row] = lastRoot;
    this.rowOf.set(lastRoot, row);
    for (const { values } of this.columns.values()) values[row] = values[lastRow] ?? 0;
  }

  private column(kind: Need['kind'], name: string): Column {
    const key = `${kind} ${name}`;
    const known = this.columns.get(key);
    // Set again on each use, so that the map's keys are in the order of their last use.
    if (known !== undefined) this.columns.delete(key);
    else if (this.columns.size === MAX_COLUMNS) this.columns.delete([...this.columns.keys()][0] as string);
    const column = known ?? new Column(measureOf(this.view, kind, name), this.rootUuids, this.view);
    this.columns.set(key, column);
    return column;
  }
}

type Measure = (tree: readonly Provider[]) => number;

class Column {
  values: Int32Array;

  constructor(
    readonly measure: Measure,
    rootUuids: readonly string[],
    view: PlacementView,
  ) {
    this.values = Int32Array.from(rootUuids, (root) => measure(view.tree(root)));
  }

  grow(rowCount: number): void {
    if (rowCount <= this.values.length) return;
    const larger = new Int32Array(rowCount * 2);
    larger.set(this.values);
    this.values = larger;
  }
}

function measureOf(view: PlacementView, kind: Need['kind'], name: string): Measure {
  switch (kind) {
    case 'class':
      return (tree) => tree.reduce((most, provider) => Math.max(most, availableAt(view, provider, name)), 0);
    case 'trait':
      return (tree) => Number(tree.some(({ traits }) => traits.includes(name)));
    case 'aggregate':
      return (tree) => Number(tree.some(({ aggregates }) => aggregates.includes(name)));
  }
}

function availableAt(view: PlacementView, provider: Provider, resourceClass: string): number {
  const inventory = provider.inventories[resourceClass];
  return inventory === undefined ? 0 : availableIn(inventory, view.usage(provider.uuid)[resourceClass] ?? 0);
}

function hasOne(columns: readonly Int32Array[], row: number, atLeast: number): boolean {
  for (const values of columns) if ((values[row] ?? 0) >= atLeast) return true;
  return false;
}
