const NONE: readonly string[] = [];

/**
 * The keys by their one name. More than one key has a name only for a moment, so a list keeps them in a fifth of the memory that a
 * set would take: a mirror of 100,000 hosts has 200,000 names.
 */
export class NameIndex {
  readonly #keys = new Map<string, readonly string[]>();

  get(name: string): readonly string[] {
    return this.#keys.get(name) ?? NONE;
  }

  /** Moves a key from the name it had to the one it has. */
  move(key: string, before: string | undefined, after: string | undefined): void {
    if (before === after) return;
    if (before !== undefined)
      this.#set(
        before,
        this.get(before).filter((other) => other !== key),
      );
    if (after === undefined) return;
    const others = this.get(after);
    // A spread list would have room for sixteen.
    this.#set(after, others.length === 0 ? [key] : [...others, key]);
  }

  #set(name: string, keys: readonly string[]): void {
    if (keys.length > 0) this.#keys.set(name, keys);
    else this.#keys.delete(name);
  }
}
