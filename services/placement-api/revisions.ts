/**
 * Asks the store for its revision on behalf of many readers at once.
 *
 * A linearizable read needs a revision that the store sent after the read began. The naive way, one question per read,
 * makes the store answer every GET. But an answer serves every read that began before its question was sent. So while a
 * question is in flight, all new readers share the next one. The price: a reader waits for up to two answers. In return
 * at most one question is in flight under any load. (etcd batches Raft's ReadIndex the same way.)
 */
export class Revisions {
  #asking: Promise<number> | undefined;
  #after: Promise<number> | undefined;

  constructor(private readonly ask: () => Promise<number>) {}

  /** A revision at least as new as the last commit before this call. */
  next(): Promise<number> {
    if (this.#asking === undefined) return this.#begin();
    this.#after ??= this.#asking.catch(() => undefined).then(() => this.#begin());
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
