import { BerthError } from '#libs/domain/errors';

/** Bounds what is open at once, in all and of each project. */
export class Shares {
  readonly #openOf = new Map<string, number>();
  #open = 0;

  /** @param noun  what is bounded, in errors */
  constructor(
    private readonly noun: string,
    private readonly max: number,
    private readonly maxPerProject: number,
  ) {}

  /**
   * Takes a place; the answer gives it back, once.
   *
   * @throws BerthError `resource_exhausted / too_many_at_once`.
   */
  take(projectId: string): () => void {
    const own = this.#openOf.get(projectId) ?? 0;
    if (own >= this.maxPerProject) throw full(`${own} ${this.noun} of project ${projectId} are open`);
    if (this.#open >= this.max) throw full(`${this.#open} ${this.noun} are open`);
    this.#open++;
    this.#openOf.set(projectId, own + 1);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#open--;
      const left = (this.#openOf.get(projectId) ?? 1) - 1;
      if (left === 0) this.#openOf.delete(projectId);
      else this.#openOf.set(projectId, left);
    };
  }
}

function full(problem: string): BerthError {
  return new BerthError('resource_exhausted', 'too_many_at_once', `${problem}: wait for one of them`);
}
