import type { History } from '#libs/simulation/history';
import type { Action } from './draw-plan';
import { type Processes, START_MS } from './processes';

/** The worlds: one cell with its hosts; nodes that agents share by a ring; several cells and their top; hosts in racks. */
export type WorldName = 'fleet' | 'ring' | 'cells' | 'racks';

export interface RunOptions {
  /** Default: the fleet. */
  readonly world?: WorldName | undefined;
  readonly seed: number;
  /** Number of actions. */
  readonly actionCount: number;
  /** Numbers of the actions to keep; all when undefined. */
  readonly kept?: readonly number[] | undefined;
  /** Kinds of actions that each plan contains. */
  readonly focus?: readonly string[] | undefined;
}

/** A broken invariant. */
export interface Violation {
  readonly invariant: string;
  readonly message: string;
}

export interface RunResult {
  readonly violation: Violation | undefined;
  /** The first step that the model of the protocol does not allow, whatever else was wrong before. */
  readonly brokenTrace: string | undefined;
  /** Steps that were checked against the model, by kind. */
  readonly traced: ReadonlyMap<string, number>;
  /** Equal for equal runs. */
  readonly history: History;
  readonly stepCount: number;
  readonly plan: readonly Pick<Action<never>, 'number' | 'afterMs' | 'kind'>[];
}

/** A world, as seeds, reports and mutants run it. */
export interface World {
  /** Names of the kinds of actions. */
  readonly kinds: readonly string[];
  /** Parties with a lane in diagrams, besides `broker` and `store`, from left to right. */
  readonly parties: readonly string[];
  readonly run: (options: RunOptions) => Promise<RunResult>;
}

/** A checker, with the first violation. */
export interface Watched {
  readonly violation: Violation | undefined;
}

/** A world and its checker, as actions see them. */
export interface RunOf<W extends Processes, C extends Watched> {
  readonly fleet: W;
  readonly checker: C;
}

const CHECK_EVERY_MS = 500;

/** Schedules a plan on a started world; returns functions that run it. */
export function begin<W extends Processes, C extends Watched>(run: RunOf<W, C>, plan: readonly Action<RunOf<W, C>>[]) {
  const { fleet, checker } = run;
  for (const { afterMs, perform } of plan) fleet.time.at(START_MS + afterMs, () => perform(run));
  return runnerOf(fleet, checker);
}

/** The result of a run. */
export function resultOf({ fleet, checker }: RunOf<Processes, Watched>, plan: RunResult['plan']): RunResult {
  const { history, time, brokenTrace, traces } = fleet;
  const traced = new Map<string, number>();
  for (const { counts } of traces)
    for (const [kind, count] of counts) traced.set(kind, (traced.get(kind) ?? 0) + count);
  // A run that ends at such a step is not at rest, so what is wrong with it at its end says nothing.
  const violation = brokenTrace === undefined ? checker.violation : ofModel(brokenTrace);
  return { violation, brokenTrace, traced, history, stepCount: time.stepCount, plan };
}

function ofModel(message: string): Violation {
  return { invariant: 'each step is one of the model', message };
}

/** Runs a world up to a time, or to the first violation. */
function runnerOf(fleet: Processes, watched: Watched) {
  const { time } = fleet;
  const isWrong = () => watched.violation !== undefined || fleet.brokenTrace !== undefined;
  const runUntil = async (untilMs: number) => {
    while (!isWrong() && time.nowMs < untilMs) {
      await time.runUntil(Math.min(untilMs, time.nowMs + CHECK_EVERY_MS));
    }
  };
  return {
    runUntil,
    /** Actions may postpone the end while it runs. */
    runUntilOver: async (overAtMs: () => number) => {
      while (!isWrong() && time.nowMs < overAtMs()) await runUntil(overAtMs());
    },
  };
}
