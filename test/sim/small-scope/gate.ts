import { BerthError } from '#libs/domain/errors';

/** What came of something: its result, or what was thrown. */
type Outcome = { readonly result: unknown } | { readonly thrown: unknown };

interface Waiting {
  readonly name: string;
  readonly task: string;
  readonly effect: () => Promise<unknown>;
  readonly settle: (outcome: Outcome) => void;
}

/** What a task has done so far and what came of it: where it stands. */
interface Trace {
  /** The steps that were chosen, in order. */
  readonly steps: { readonly name: string; readonly outcome: Outcome }[];
  /** What it was answered at once, in order, by name. */
  readonly answers: Map<string, Outcome[]>;
  /** All of it in words. */
  readonly text: string[];
  /** Of the answers, those that a repeated task gets again. */
  repeated: Map<string, Outcome[]>;
}

/** What becomes of a step that is chosen: it is done; done, and its answer lost; or refused. */
export type Fate = 'done' | 'lost' | 'refused';

/** Holds each step of each task until somebody chooses it. */
export class Gate {
  #waiting: Waiting[] = [];
  readonly #traces = new Map<string, Trace>();

  /** The steps that wait, by name. */
  get names(): string[] {
    return this.#waiting.map(({ name }) => name).sort();
  }

  get tasks(): string[] {
    return [...this.#traces.keys()];
  }

  /** Where each task stands, in words. */
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

  /** Waits to be chosen, then does it. */
  pass<T>(task: string, what: string, effect: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const nth = this.#waiting.filter((one) => one.task === task && one.name.startsWith(`${task}: ${what}`)).length;
      const name = `${task}: ${what}${nth === 0 ? '' : ` (${nth + 1})`}`;
      const settle = (outcome: Outcome) =>
        'thrown' in outcome ? reject(outcome.thrown) : resolve(outcome.result as T);
      this.#waiting.push({ name, task, effect, settle });
    });
  }

  /** Does something without waiting; a task that is repeated gets the answer that it got. */
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

  /** Does a step that waits. */
  async release(name: string, fate: Fate = 'done'): Promise<void> {
    const one = this.#take(name);
    const outcome = fate === 'refused' ? REFUSED : await outcomeOf(one.effect);
    this.#settle(one, fate === 'lost' ? LOST : outcome);
  }

  /** Brings a task that was begun again to where it stood at another gate; what it does has no effect a second time. */
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
