import type { KeepTerms, KeptRequest } from '../port/placement-store';

/** Sealed allocation requests, each until it expires, and at most so many: then those go first that expire first. */
export class KeptRequests {
  /** In the order in which they expire, as long as all are kept for as long. */
  readonly #kept = new Map<string, { readonly sealed: Uint8Array; readonly expiresAtMs: number }>();

  keep(requests: readonly KeptRequest[], { atMs, ttlMs, most }: KeepTerms): void {
    for (const { id, sealed } of requests) this.#kept.set(id, { sealed, expiresAtMs: atMs + ttlMs });
    const inOrder = [...this.#kept].sort(([, a], [, b]) => a.expiresAtMs - b.expiresAtMs);
    for (const [id, { expiresAtMs }] of inOrder) {
      if (expiresAtMs > atMs && this.#kept.size <= most) return;
      this.#kept.delete(id);
    }
  }

  of(id: string, atMs: number): Uint8Array | undefined {
    const kept = this.#kept.get(id);
    return kept && kept.expiresAtMs > atMs ? kept.sealed : undefined;
  }
}
