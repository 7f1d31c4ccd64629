import type { KeptDecision } from '../port/placement-store';

/** The last decisions, each with the instances and the request that it is found by. */
export class DecisionRing {
  readonly #ring = new Map<string, KeptDecision>();
  readonly #decided = new Map<string, string>();

  keep(decisions: readonly KeptDecision[], most: number): void {
    for (const decision of decisions) {
      this.#ring.set(decision.id, decision);
      for (const uuid of decision.foundBy) this.#decided.set(uuid, decision.id);
    }
    for (const { id, foundBy } of this.#ring.values()) {
      if (this.#ring.size <= most) return;
      this.#ring.delete(id);
      for (const uuid of foundBy) if (this.#decided.get(uuid) === id) this.#decided.delete(uuid);
    }
  }

  /** The newest first. */
  recent(most: number): Uint8Array[] {
    return [...this.#ring.values()]
      .slice(-most)
      .toReversed()
      .map(({ content }) => content);
  }

  of(uuid: string): Uint8Array | undefined {
    return this.#ring.get(this.#decided.get(uuid) ?? '')?.content;
  }
}
