import { BerthError } from '#libs/domain/errors';

interface Waiting {
  readonly name: string;
  readonly task: string;
  readonly effect: () => Promise<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Holds each step of each task until somebody chooses it. */
export class Gate {
  #waiting: Waiting[] = [];
  /** What each task has done so far and what came of it: where it stands. */
  readonly #traces = new Map<string, string[]>();

  /** The steps that wait, by name. */
  get names(): string[] {
    return this.#waiting.map(({ name }) => name);
  }

  /** Where each task stands. */
  get traces(): readonly (readonly [task: string, trace: readonly string[]])[] {
    return [...this.#traces];
  }

  begin(task: string): void {
    this.#traces.set(task, []);
  }

  end(task: string): void {
    this.#traces.delete(task);
    this.#waiting = this.#waiting.filter((one) => one.task !== task);
  }

  isRunning(task: string): boolean {
    return this.#traces.has(task);
  }

  /** Waits to be chosen, then does it. */
  pass<T>(task: string, what: string, effect: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const nth = this.#waiting.filter((one) => one.task === task && one.name.startsWith(`${task}: ${what}`)).length;
      const name = `${task}: ${what}${nth === 0 ? '' : ` (${nth + 1})`}`;
      this.#waiting.push({ name, task, effect, resolve: resolve as (result: unknown) => void, reject });
    });
  }

  /** Does a step that waits; `isLost`: its answer does not come back. */
  async release(name: string, isLost = false): Promise<void> {
    const one = this.#waiting.find((waiting) => waiting.name === name);
    if (one === undefined) throw new Error(`nothing waits as ${name}`);
    this.#waiting = this.#waiting.filter((waiting) => waiting !== one);
    const trace = this.#traces.get(one.task);
    try {
      const result = await one.effect();
      trace?.push(`${name} ${isLost ? 'lost' : JSON.stringify(result)}`);
      if (isLost) one.reject(new BerthError('unavailable', 'outcome_unknown', 'the answer was lost'));
      else one.resolve(result);
    } catch (thrown) {
      trace?.push(`${name} ${BerthError.from(thrown).reason}`);
      one.reject(thrown);
    }
  }
}
