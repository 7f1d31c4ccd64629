import type { PlacementView } from '../port/placement-view';
import { ChangedTrees } from './changed-trees';

/** A value made from a tree, kept until the tree changes. */
export class KeptByTree<T> {
  readonly #changes: ChangedTrees;
  readonly #make: (rootUuid: string) => T;
  readonly #made = new Map<string, T>();

  /** @param make  from nothing but the tree with this root: its providers and their usage */
  constructor(view: PlacementView, make: (rootUuid: string) => T) {
    this.#changes = new ChangedTrees(view);
    this.#make = make;
  }

  of(rootUuid: string): T {
    this.#catchUp();
    const known = this.#made.get(rootUuid);
    if (known !== undefined) return known;
    const made = this.#make(rootUuid);
    this.#made.set(rootUuid, made);
    return made;
  }

  /** Forgets all, for something else that values were made from has changed. */
  clear(): void {
    this.#made.clear();
  }

  close(): void {
    this.#changes.close();
  }

  #catchUp(): void {
    const changed = this.#changes.take();
    if (changed === 'all') this.#made.clear();
    else if (changed.size > 0) for (const root of changed) this.#made.delete(root);
  }
}
