import type { KeepTerms } from '../port/placement-store';

/** Contents by id, each until it expires, and at most so many: then those go first that expire first. */
export class KeptUntil<T> {
  /** In the order in which they expire, as long as all are kept for as long. */
  readonly #kept = new Map<string, { readonly content: T; readonly expiresAtMs: number }>();

  keep(contents: readonly (readonly [id: string, content: T])[], { atMs, ttlMs, most }: KeepTerms): void {
    for (const [id, content] of contents) this.#kept.set(id, { content, expiresAtMs: atMs + ttlMs });
    const inOrder = [...this.#kept].sort(([, a], [, b]) => a.expiresAtMs - b.expiresAtMs);
    for (const [id, { expiresAtMs }] of inOrder) {
      if (expiresAtMs > atMs && this.#kept.size <= most) return;
      this.#kept.delete(id);
    }
  }

  of(id: string, atMs: number): { readonly content: T; readonly expiresAtMs: number } | undefined {
    const kept = this.#kept.get(id);
    return kept && kept.expiresAtMs > atMs ? kept : undefined;
  }

  /** Forgets a content, and returns it. */
  take(id: string, atMs: number) {
    const kept = this.of(id, atMs);
    this.#kept.delete(id);
    return kept;
  }
}
