import type { Revised } from '../port/placement-store';

/** The answer to a row that is no newer than the one that is there: it was ignored. */
export const NOT_NEWER = Symbol('not newer');

/**
 * Rows of one kind, each the newest that was seen, whatever the order in which they come.
 *
 * Rows come from three sides: a snapshot that is read while others write, the stream, and the answers to this process's
 * own commits, which are ahead of the stream. An upsert is taken when its revision is higher than what is there. For a
 * row that is not there, "what is there" is the revision up to which the stream was read (whatever is missing by then
 * was deleted or never existed) or, beyond it, the revision of the deletion, which is remembered until the stream has
 * passed it. So an old row never brings back what was deleted.
 */
export class VersionedRows<T> {
  readonly #rows = new Map<string, Revised<T>>();
  readonly #deletedAt = new Map<string, number>();

  get(key: string): Revised<T> | undefined {
    return this.#rows.get(key);
  }

  /** The row with one of these keys that was written last. */
  newestOf(keys: Iterable<string>): Revised<T> | undefined {
    let found: Revised<T> | undefined;
    for (const key of keys) {
      const row = this.#rows.get(key);
      if (row && row.revision > (found?.revision ?? -1)) found = row;
    }
    return found;
  }

  values(): Iterable<Revised<T>> {
    return this.#rows.values();
  }

  keys(): Iterable<string> {
    return this.#rows.keys();
  }

  get size(): number {
    return this.#rows.size;
  }

  /**
   * Takes a row if it is newer. `floor`: the revision up to which nothing is missing.
   *
   * @returns the row that was there before, or {@link NOT_NEWER}
   */
  set(key: string, row: Revised<T>, floor: number): Revised<T> | undefined | typeof NOT_NEWER {
    const before = this.#rows.get(key);
    const known = before?.revision ?? Math.max(floor, this.#deletedAt.get(key) ?? -1);
    if (row.revision <= known) return NOT_NEWER;
    this.#rows.set(key, row);
    return before;
  }

  /** Puts a row in place of the one that is there, of the same revision. */
  amend(key: string, row: Revised<T>): void {
    this.#rows.set(key, row);
  }

  /** Deletes what is older than `revision`; the row that went, if one did. */
  delete(key: string, revision: number, floor: number): Revised<T> | undefined {
    const row = this.#rows.get(key);
    if (row && row.revision > revision) return undefined;
    if (revision > floor) this.#deletedAt.set(key, Math.max(revision, this.#deletedAt.get(key) ?? -1));
    if (row) this.#rows.delete(key);
    return row;
  }

  /** Forgets deletions that the stream has passed. */
  passed(revision: number): void {
    if (this.#deletedAt.size === 0) return;
    for (const [key, deletedAt] of this.#deletedAt) if (deletedAt <= revision) this.#deletedAt.delete(key);
  }
}
