import type { PlacementView } from '../port/placement-view';

/** Notes whose trees changed, for what is kept of each tree and brought up to date when it is next needed. */
export class ChangedTrees {
  readonly #stopListening: () => void;
  #changed: Set<string> | 'all' = 'all';

  constructor(view: PlacementView) {
    this.#stopListening = view.onChange((changed) => {
      if (changed === 'all') this.#changed = 'all';
      else if (this.#changed !== 'all') for (const root of changed.roots) this.#changed.add(root);
    });
  }

  /** The roots of trees that changed since the last call, or `all`: so it is at the first, too. */
  take(): ReadonlySet<string> | 'all' {
    const changed = this.#changed;
    if (changed === 'all' || changed.size > 0) this.#changed = new Set();
    return changed;
  }

  close(): void {
    this.#stopListening();
  }
}
