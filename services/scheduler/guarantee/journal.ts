/** Changes to maps of immutable values that can be taken back: a decision is tried on the maps themselves, not on copies. */
export class Journal {
  #undo: (() => void)[] = [];

  /** Sets a key, or deletes it where there is no value. */
  set<K, V>(map: Map<K, V>, key: K, value: V | undefined): void {
    const before = map.get(key);
    if (before === value) return;
    this.#undo.push(() => put(map, key, before));
    put(map, key, value);
  }

  /** A point to which {@link rollBack} goes back. */
  mark(): number {
    return this.#undo.length;
  }

  rollBack(mark = 0): void {
    while (this.#undo.length > mark) this.#undo.pop()?.();
  }

  /** Keeps all changes. */
  keep(): void {
    if (this.#undo.length > 0) this.#undo = [];
  }
}

function put<K, V>(map: Map<K, V>, key: K, value: V | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}
