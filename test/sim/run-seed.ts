import { seededRandom, seedOf } from '#libs/domain/random';
import { buryDeadHosts } from './actions/deletions';
import { RESERVING, useReservation } from './actions/reservations';
import { leaveDevices } from './actions/tenants/devices';
import { checkAtRest } from './at-rest';
import { Checker } from './checker';
import { Fleet, OTHERS, SERVICES } from './fleet';
import { checkGrowth, measureKept, STILL_MS } from './growth';
import { KIND_NAMES, planOf } from './plan';
import { HORIZON_MS } from './world/draw-plan';
import { START_MS } from './world/processes';
import { begin, type RunOptions, type RunResult, resultOf, type World } from './world/run';

/**
 * Quiet time before the fleet must be at rest. A host that was evacuated late answers after 55 s; an instance that it destroys while its
 * first report names it is adopted, and found lost by the fourth report, 13 s later.
 */
const QUIET_MS = 46_000;
/** From a renewed claim until two reports lack its instance. */
const MISSED_MS = 13_000;
/** Longer than the timeout of a scheduler's answer. */
const TRY_MS = 1_500;
/** So often something evacuated may find a host while the fleet is watched at rest. */
const MOST_LEFT = 3;
/** From the begin or end of a window until a scheduler has written it. */
const WINDOW_NOTED_MS = 3_000;

/** One cell with its hosts, its tenants and its operators. */
export const FLEET: World = {
  kinds: KIND_NAMES,
  parties: [...OTHERS, 'broker', ...SERVICES, 'store', 'h1', 'h2', 'rack-1', 'rack-2', 'world'],
  run: runFleet,
};

async function runFleet({ seed, actionCount, kept, focus }: RunOptions): Promise<RunResult> {
  const fleet = new Fleet(seed);
  const checker = new Checker(fleet);
  const plan = planOf(seed, actionCount, focus).filter(({ number }) => kept?.includes(number) ?? true);
  await checker.watch(fleet.observer);
  await fleet.start();
  const { runUntil, runUntilOver } = begin({ fleet, checker }, plan);
  await runUntil(START_MS + HORIZON_MS);
  fleet.heal();
  buryDeadHosts({ fleet, checker });
  if (plan.some(({ kind }) => kind === 'device is left')) leaveDevices({ fleet, checker });
  if (plan.some(({ kind }) => RESERVING.includes(kind))) {
    useReservation({ fleet, checker }, seededRandom(seedOf(`${seed} last reservation`)));
  }
  await runUntil(START_MS + HORIZON_MS + QUIET_MS - STILL_MS);
  // Requests that waited for a dead keeper of the queue are served then.
  await runUntilOver(() => checker.limitsOverAtMs());
  const latestMs = fleet.time.nowMs + MISSED_MS;
  await runUntilOver(() => Math.min(checker.claimedAgainAtMs + MISSED_MS, latestMs));
  await runUntilOver(() => windowsOverAtMs({ fleet, checker }));
  let before = await measureKept(fleet);
  await runUntil(fleet.time.nowMs + STILL_MS);
  // A host that has failed builds is trusted again after a while, and takes what its policy evacuates: all is still afterwards.
  for (let n = 0; n < MOST_LEFT && checker.leftByPolicyAtMs + MISSED_MS > fleet.time.nowMs; n++) {
    await runUntil(checker.leftByPolicyAtMs + MISSED_MS);
    before = await measureKept(fleet);
    await runUntil(fleet.time.nowMs + STILL_MS);
  }
  // An instance of a dead host that no other host takes is tried again and again: the fleet is at rest in between.
  await runUntilOver(() => checker.triedByPolicyAtMs + TRY_MS);
  if (checker.violation === undefined) {
    await checkGrowth(fleet, checker, before);
    await checkAtRest(fleet, checker);
  }
  // Requests that still wait for a signal would keep the whole fleet in memory.
  fleet.server.close();
  return resultOf({ fleet, checker }, plan);
}

/** The time after which no window of a reservation begins or ends while nothing may be written. */
function windowsOverAtMs({ fleet, checker }: { readonly fleet: Fleet; readonly checker: Checker }): number {
  return checker.reservations.lastTurnBefore(fleet.time.nowMs + 2 * STILL_MS) + WINDOW_NOTED_MS;
}
