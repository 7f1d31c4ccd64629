import type { History } from '#libs/simulation/history';
import { checkAtRest } from './at-rest';
import { Checker, type Violation } from './checker';
import { Fleet, START_MS } from './fleet';
import { checkGrowth, measureKept, STILL_MS } from './growth';
import { type Action, type ActionKind, HORIZON_MS, planOf } from './plan';

export interface RunOptions {
  readonly seed: number;
  /** How many things happen to the fleet. */
  readonly actionCount: number;
  /** Of these, the ones that do; all when undefined. */
  readonly kept?: readonly number[] | undefined;
  /** Kinds of actions that are always among them. */
  readonly focus?: readonly ActionKind[] | undefined;
}

export interface RunResult {
  readonly violation: Violation | undefined;
  /** The same for the same run. */
  readonly history: History;
  readonly stepCount: number;
  readonly plan: readonly Action[];
}

/**
 * How long nothing happens to the fleet before it must be at rest. A host that was evacuated at the last answers after 55 s;
 * what it destroys while its first report says that it runs there is adopted and found lost by the fourth, 13 s later.
 */
const QUIET_MS = 46_000;
const CHECK_EVERY_MS = 500;
/** Longer than a scheduler has to answer. */
const TRY_MS = 1_500;

/** One run, from the start of the fleet until it is at rest or something is wrong. */
export async function runSeed({ seed, actionCount, kept, focus }: RunOptions): Promise<RunResult> {
  const fleet = new Fleet(seed);
  const checker = new Checker(fleet);
  const plan = planOf(seed, actionCount, focus).filter(({ number }) => kept?.includes(number) ?? true);
  await checker.watch(fleet.observer);
  await fleet.start();
  for (const action of plan) {
    fleet.time.at(START_MS + action.afterMs, () => action.perform({ fleet, checker }));
  }
  const runUntil = async (untilMs: number) => {
    while (checker.violation === undefined && fleet.time.nowMs < untilMs) {
      await fleet.time.runUntil(Math.min(untilMs, fleet.time.nowMs + CHECK_EVERY_MS));
    }
  };
  // What happens meanwhile may put the end off.
  const runUntilOver = async (overAtMs: () => number) => {
    while (checker.violation === undefined && fleet.time.nowMs < overAtMs()) await runUntil(overAtMs());
  };
  await runUntil(START_MS + HORIZON_MS);
  fleet.heal();
  await runUntil(START_MS + HORIZON_MS + QUIET_MS - STILL_MS);
  // Who had to wait for a dead keeper of the queue has its time then.
  await runUntilOver(() => checker.limitsOverAtMs());
  const before = await measureKept(fleet);
  await runUntil(fleet.time.nowMs + STILL_MS);
  // What no other host takes is tried again as long as its host is dead: a fleet is at rest in between.
  await runUntilOver(() => checker.triedByPolicyAtMs + TRY_MS);
  if (checker.violation === undefined) {
    await checkGrowth(fleet, checker, before);
    await checkAtRest(fleet, checker);
  }
  // What still waits for a signal would keep the whole fleet in memory.
  fleet.server.close();
  const { violation } = checker;
  const { history, time } = fleet;
  return { violation, history, stepCount: time.stepCount, plan };
}
