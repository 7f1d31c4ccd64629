import type { History } from '#libs/simulation/history';
import type { Action } from './draw-plan';
import { type Processes, START_MS } from './processes';

/** The worlds that there are: one cell with its hosts; nodes that agents share by a ring; several cells and their top. */
export type WorldName = 'fleet' | 'ring' | 'cells';

export interface RunOptions {
  /** The fleet unless given. */
  readonly world?: WorldName | undefined;
  readonly seed: number;
  /** How many things happen. */
  readonly actionCount: number;
  /** Of these, the ones that do; all when undefined. */
  readonly kept?: readonly number[] | undefined;
  /** Kinds of actions that are always among them. */
  readonly focus?: readonly string[] | undefined;
}

/** What must never be, and was. */
export interface Violation {
  readonly invariant: string;
  readonly message: string;
}

export interface RunResult {
  readonly violation: Violation | undefined;
  /** The same for the same run. */
  readonly history: History;
  readonly stepCount: number;
  readonly plan: readonly Pick<Action<never>, 'number' | 'afterMs' | 'kind'>[];
}

/** A world that can be run, as seeds, reports and mutants see it. */
export interface World {
  /** Names of what can happen. */
  readonly kinds: readonly string[];
  /** Who has a lane in diagrams, besides `broker` and `store`, from left to right. */
  readonly parties: readonly string[];
  readonly run: (options: RunOptions) => Promise<RunResult>;
}

/** The first thing that was wrong. */
export interface Watched {
  readonly violation: Violation | undefined;
}

/** A world, as actions have it, and who watches it. */
export interface RunOf<W extends Processes, C extends Watched> {
  readonly fleet: W;
  readonly checker: C;
}

const CHECK_EVERY_MS = 500;

/** Has a plan happen to a world that has started; what runs it. */
export function begin<W extends Processes, C extends Watched>(run: RunOf<W, C>, plan: readonly Action<RunOf<W, C>>[]) {
  const { fleet, checker } = run;
  for (const { afterMs, perform } of plan) fleet.time.at(START_MS + afterMs, () => perform(run));
  return runnerOf(fleet, checker);
}

/** What came of a run. */
export function resultOf({ fleet, checker }: RunOf<Processes, Watched>, plan: RunResult['plan']): RunResult {
  const { history, time } = fleet;
  return { violation: checker.violation, history, stepCount: time.stepCount, plan };
}

/** Runs a world up to a time, or until something is wrong. */
function runnerOf({ time }: Processes, watched: Watched) {
  const runUntil = async (untilMs: number) => {
    while (watched.violation === undefined && time.nowMs < untilMs) {
      await time.runUntil(Math.min(untilMs, time.nowMs + CHECK_EVERY_MS));
    }
  };
  return {
    runUntil,
    /** What happens meanwhile may put the end off. */
    runUntilOver: async (overAtMs: () => number) => {
      while (watched.violation === undefined && time.nowMs < overAtMs()) await runUntil(overAtMs());
    },
  };
}
