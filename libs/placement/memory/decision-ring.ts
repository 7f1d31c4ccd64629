import type { KeptDecision } from '../port/placement-store';

/** The last decisions, each with the instances that it was about. */
export class DecisionRing {
  readonly #ring = new Map<string, KeptDecision>();
  readonly #decided = new Map<string, string>();

  keep(decisions: readonly KeptDecision[], most: number): void {
    for (const decision of decisions) {
      this.#ring.set(decision.id, decision);
      for (const uuid of decision.instanceUuids) this.#decided.set(uuid, decision.id);
    }
    for (const { id, instanceUuids } of this.#ring.values()) {
      if (this.#ring.size <= most) return;
      this.#ring.delete(id);
      for (const uuid of instanceUuids) if (this.#decided.get(uuid) === id) this.#decided.delete(uuid);
    }
  }

  of(instanceUuid: string): Uint8Array | undefined {
    return this.#ring.get(this.#decided.get(instanceUuid) ?? '')?.content;
  }
}
