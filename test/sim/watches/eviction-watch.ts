/** Two instances that evicted each other so often are in a circle: what comes from outside does not repeat itself like that. */
const MOST_ROUNDS = 1;

/** Watches for instances that evict each other round and round (an endless preemption is an open defect of Kueue's). */
export class EvictionWatch {
  /** Number of evictions of one for another, as `<evictor> <victim>`. */
  readonly #counts = new Map<string, number>();
  /** Evictor of each, as on its present record. */
  readonly #present = new Map<string, string>();

  /** A version of a record on its way out for another, or not any more; answers what is wrong. */
  take(victim: string, evictor: string | undefined): string | undefined {
    const before = this.#present.get(victim);
    if (evictor === undefined) this.#present.delete(victim);
    if (evictor === undefined || before === evictor) return undefined;
    this.#present.set(victim, evictor);
    const count = (this.#counts.get(`${evictor} ${victim}`) ?? 0) + 1;
    this.#counts.set(`${evictor} ${victim}`, count);
    const rounds = Math.min(count, this.#counts.get(`${victim} ${evictor}`) ?? 0);
    return rounds > MOST_ROUNDS ? `${evictor} and ${victim} have evicted each other ${rounds} times` : undefined;
  }
}
