import type { KeepTerms } from '../port/placement-store';

interface Kept<T> {
  readonly content: T;
  readonly expiresAtMs: number;
  readonly owner: string;
}

/** Contents by id, each for a time, and of all at most so many. */
export class KeptUntil<T> {
  /** In the order in which they expire, as long as all are kept for as long. */
  readonly #kept = new Map<string, Kept<T>>();

  /** Beyond the most, those that expire first of the owner who has most go first. */
  keep(contents: readonly (readonly [id: string, content: T])[], terms: KeepTerms & { readonly owner?: string }): void {
    const { atMs, ttlMs, most, owner = '' } = terms;
    for (const [id, content] of contents) this.#kept.set(id, { content, expiresAtMs: atMs + ttlMs, owner });
    for (const [id, { expiresAtMs }] of this.#kept) if (expiresAtMs <= atMs) this.#kept.delete(id);
    this.#dropAbove(most);
  }

  of(id: string, atMs: number): { readonly content: T; readonly expiresAtMs: number } | undefined {
    const { content, expiresAtMs = 0 } = this.#kept.get(id) ?? {};
    return content !== undefined && expiresAtMs > atMs ? { content, expiresAtMs } : undefined;
  }

  /** Forgets a content, and returns it. */
  take(id: string, atMs: number) {
    const kept = this.of(id, atMs);
    this.#kept.delete(id);
    return kept;
  }

  #dropAbove(most: number): void {
    if (this.#kept.size <= most) return;
    /** By owner, those that expire first last. */
    const ids = new Map<string, string[]>();
    const isLater = ([idA, a]: readonly [string, Kept<T>], [idB, b]: readonly [string, Kept<T>]) =>
      b.expiresAtMs - a.expiresAtMs || (idA < idB ? 1 : -1);
    for (const [id, { owner }] of [...this.#kept].sort(isLater)) {
      const ofOwner = ids.get(owner) ?? [];
      ofOwner.push(id);
      ids.set(owner, ofOwner);
    }
    while (this.#kept.size > most) {
      const largest = [...ids.values()].reduce((a, b) => (b.length > a.length ? b : a));
      this.#kept.delete(largest.pop() ?? '');
    }
  }
}
