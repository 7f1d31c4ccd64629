/** A server that takes over goes on further ahead than this: at its clock's microseconds. */
const LEAST_JUMP = 10_000;
const MAX_KEPT = 16;

/**
 * The revisions that a process has seen of a store, as far as they can tell that it lost some: the highest, and those behind
 * which it saw a jump, because what is ahead of a jump hides what was lost before it.
 */
export class SeenRevisions {
  #beforeJumps: number[] = [];
  #highest = 0;

  /** @returns the revision */
  add(revision: number): number {
    if (revision <= this.#highest) return revision;
    if (this.#highest > 0 && revision - this.#highest > LEAST_JUMP) {
      this.#beforeJumps = [...this.#beforeJumps, this.#highest].slice(-MAX_KEPT);
    }
    this.#highest = revision;
    return revision;
  }

  /** 0 while none was seen. */
  get highest(): number {
    return this.#highest;
  }

  /** Forgets all but the highest. */
  take(): readonly number[] {
    const seen = [...this.#beforeJumps, this.#highest];
    this.#beforeJumps = [];
    return seen;
  }
}
