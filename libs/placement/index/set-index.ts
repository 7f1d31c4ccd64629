const NONE: ReadonlySet<string> = new Set();

/** An inverted index: the keys under each label, such as the providers that have a trait. Empty labels take no memory. */
export class SetIndex {
  readonly #sets = new Map<string, Set<string>>();

  get(label: string): ReadonlySet<string> {
    return this.#sets.get(label) ?? NONE;
  }

  add(label: string, key: string): void {
    const set = this.#sets.get(label);
    if (set) set.add(key);
    else this.#sets.set(label, new Set([key]));
  }

  delete(label: string, key: string): void {
    const set = this.#sets.get(label);
    if (set?.delete(key) && set.size === 0) this.#sets.delete(label);
  }

  /** Moves a key from the labels it had to those it has; equal lists cost nothing. */
  move(key: string, before: readonly string[], after: readonly string[]): void {
    if (before === after) return;
    for (const label of before) if (!after.includes(label)) this.delete(label, key);
    for (const label of after) this.add(label, key);
  }
}
