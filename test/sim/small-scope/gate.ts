import { BerthError } from '#libs/domain/errors';

/** The outcome of a step: its result, or its exception. */
type Outcome = { readonly result: unknown } | { readonly thrown: unknown };

interface Waiting {
  readonly name: string;
  readonly task: string;
  readonly effect: () => Promise<unknown>;
  readonly settle: (outcome: Outcome) => void;
}

/** The history of a task, which is its state. */
interface Trace {
  /** Steps chosen so far, in order. */
  readonly steps: { readonly name: string; readonly outcome: Outcome }[];
  /** Answers that needed no choice, in order, by name. */
  readonly answers: Map<string, Outcome[]>;
  /** The whole history in words. */
  readonly text: string[];
  /** Answers that a repeated task gets again. */
  repeated: Map<string, Outcome[]>;
}

/** The fate of a chosen step: done; done, with its answer lost; or refused. */
export type Fate = 'done' | 'lost' | 'refused';

/** Holds each step of each task until the search chooses it. */
export class Gate {
  #waiting: Waiting[] = [];
  readonly #traces = new Map<string, Trace>();

  /** Names of the waiting steps. */
  get names(): string[] {
    return this.#waiting.map(({ name }) => name).sort();
  }

  get tasks(): string[] {
    return [...this.#traces.keys()];
  }

  /** The state of each task, in words. */
  get places(): readonly string[] {
    return [...this.#traces].map(([task, { text }]) => `${task}: ${text.join('; ')}`).sort();
  }

  begin(task: string): void {
    this.#traces.set(task, { steps: [], answers: new Map(), text: [], repeated: new Map() });
  }

  end(task: string): void {
    this.#traces.delete(task);
    this.#waiting = this.#waiting.filter((one) => one.task !== task);
  }

  isWaiting(task: string): boolean {
    return this.#waiting.some((one) => one.task === task);
  }

  /** Waits to be chosen, then acts. */
  pass<T>(task: string, what: string, effect: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const nth = this.#waiting.filter((one) => one.task === task && one.name.startsWith(`${task}: ${what}`)).length;
      const name = `${task}: ${what}${nth === 0 ? '' : ` (${nth + 1})`}`;
      const settle = (outcome: Outcome) =>
        'thrown' in outcome ? reject(outcome.thrown) : resolve(outcome.result as T);
      this.#waiting.push({ name, task, effect, settle });
    });
  }

  /** Acts without waiting; a repeated task gets its earlier answer. */
  async atOnce<T>(task: string, what: string, effect: () => Promise<T>): Promise<T> {
    const trace = this.#traces.get(task);
    const outcome = trace?.repeated.get(what)?.shift() ?? (await outcomeOf(effect));
    if (trace) {
      trace.answers.set(what, [...(trace.answers.get(what) ?? []), outcome]);
      trace.text.push(`${what} ${textOf(outcome)}`);
    }
    if ('thrown' in outcome) throw outcome.thrown;
    return outcome.result as T;
  }

  /** Does a waiting step. */
  async release(name: string, fate: Fate = 'done'): Promise<void> {
    const one = this.#take(name);
    const outcome = fate === 'refused' ? REFUSED : await outcomeOf(one.effect);
    this.#settle(one, fate === 'lost' ? LOST : outcome);
  }

  /** Brings a restarted task to the state that it had at another gate; its effects are not repeated. */
  async repeat(task: string, from: Gate, begin: () => Promise<void>): Promise<void> {
    const { steps, answers } = from.#traces.get(task) as Trace;
    this.begin(task);
    const trace = this.#traces.get(task) as Trace;
    trace.repeated = new Map([...answers].map(([what, all]) => [what, [...all]]));
    await begin();
    for (const { name, outcome } of steps) {
      await settled();
      this.#settle(this.#take(name), outcome);
    }
    await settled();
  }

  #settle({ name, task, settle }: Waiting, outcome: Outcome): void {
    const trace = this.#traces.get(task);
    trace?.steps.push({ name, outcome });
    trace?.text.push(`${name} ${textOf(outcome)}`);
    settle(outcome);
  }

  #take(name: string): Waiting {
    const one = this.#waiting.find((waiting) => waiting.name === name);
    if (one === undefined) throw new Error(`nothing waits as ${name}`);
    this.#waiting = this.#waiting.filter((waiting) => waiting !== one);
    return one;
  }
}

/** A turn of the event loop: every promise that can go on has gone on. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function outcomeOf(effect: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { result: await effect() };
  } catch (thrown) {
    return { thrown };
  }
}

function textOf(outcome: Outcome): string {
  return 'thrown' in outcome ? BerthError.from(outcome.thrown).reason : JSON.stringify(outcome.result);
}

const LOST = { thrown: new BerthError('unavailable', 'outcome_unknown', 'the answer was lost') };
const REFUSED = { thrown: new BerthError('unavailable', 'store_away', 'the store is away') };
