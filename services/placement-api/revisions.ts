/**
 * Asks the store for its revision on behalf of many readers at once.
 *
 * A linearizable read needs a revision that the store told after the read began. One question for each read would make
 * the store answer every GET. But an answer serves every read that began before its question was sent: so while one
 * question is under way, all readers that come share the next one. Under any load at most one question is under way, and
 * none waits for more than two.
 */
export class Revisions {
  #asking: Promise<number> | undefined;
  #after: Promise<number> | undefined;

  constructor(private readonly ask: () => Promise<number>) {}

  /** A revision at least as new as the last commit before this call. */
  next(): Promise<number> {
    if (this.#asking === undefined) return this.#begin();
    this.#after ??= this.#asking.then(
      () => this.#begin(),
      () => this.#begin(),
    );
    return this.#after;
  }

  #begin(): Promise<number> {
    this.#after = undefined;
    const asking = this.ask().finally(() => {
      if (this.#asking === asking) this.#asking = undefined;
    });
    this.#asking = asking;
    return asking;
  }
}
