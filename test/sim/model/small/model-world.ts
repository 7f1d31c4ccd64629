import type { SmallWorld } from '#libs/simulation/explore';
import { type Broken, isBroken } from '../step';

/** A part of the model in a small scope: which steps somebody may try, and what must never be. */
export interface Scope<S, T> {
  readonly begin: S;
  /** Steps that anybody might try, by names; those that the model forbids are left out. */
  readonly tries: (state: S) => ReadonlyMap<string, T>;
  readonly step: (state: S, step: T) => S | Broken;
  /** The invariant that a step broke, if any. */
  readonly wrong: (before: S, after: S, step: T) => string | undefined;
}

/** A scope as the explorer goes through it. */
export class ModelWorld<S extends object, T> implements SmallWorld {
  #wrong: string | undefined;

  constructor(
    private readonly scope: Scope<S, T>,
    private state: S = scope.begin,
  ) {}

  async copy(): Promise<ModelWorld<S, T>> {
    return new ModelWorld(this.scope, this.state);
  }

  choices(): readonly string[] {
    const { tries, step } = this.scope;
    return [...tries(this.state)].flatMap(([name, tried]) => (isBroken(step(this.state, tried)) ? [] : [name]));
  }

  async choose(name: string): Promise<void> {
    const { tries, step, wrong } = this.scope;
    const before = this.state;
    const tried = tries(before).get(name) as T;
    const after = step(before, tried) as S;
    this.#wrong = wrong(before, after, tried);
    this.state = after;
  }

  fingerprint(): string {
    return JSON.stringify(this.state);
  }

  violation(): string | undefined {
    return this.#wrong;
  }
}
