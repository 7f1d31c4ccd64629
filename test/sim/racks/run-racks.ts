import { seededRandom, seedOf } from '#libs/domain/random';
import { HORIZON_MS } from '../world/draw-plan';
import { START_MS } from '../world/processes';
import { begin, type RunOptions, type RunResult, resultOf, type World } from '../world/run';
import { build, buildAtOnce, putIntoRacks, setGuarantee } from './actions';
import { checkAtRest, checkRunAgain, checkStillStands, loseOne, standingLosses } from './losing';
import { KIND_NAMES, planOf } from './plan';
import { RacksChecker, type RacksRun } from './racks-checker';
import { OTHERS, RacksWorld, SERVICES } from './racks-world';
import { HOSTS } from './settings';

/** After the faults: dead hosts come back, and what they ran is settled. */
const QUIET_MS = 30_000;
/** Requests without faults that fill the fleet. */
const FILLS = 6;
const FILL_EVERY_MS = 300;
const FILL_AFTER_MS = 4_000;
const FILLED_MS = 18_000;
/** A lease, the sweep of silent hosts, the pause of the rebuild policy, and builds, one at a time. */
const MOVED_MS = 75_000;

/** Hosts in racks, of which a guaranteed loss happens once all other faults have ended. */
export const RACKS_WORLD: World = {
  kinds: KIND_NAMES,
  parties: [...OTHERS, 'broker', ...SERVICES, 'store', ...HOSTS, 'world'],
  run: runRacks,
};

async function runRacks({ seed, actionCount, kept, focus }: RunOptions): Promise<RunResult> {
  const fleet = new RacksWorld(seed);
  const checker = new RacksChecker(fleet);
  const run: RacksRun = { fleet, checker };
  const plan = planOf(seed, actionCount, focus).filter(({ number }) => kept?.includes(number) ?? true);
  await fleet.start();
  putIntoRacks(run);
  const { runUntil } = begin(run, plan);
  await runUntil(START_MS + HORIZON_MS);
  fleet.heal();
  await runUntil(START_MS + HORIZON_MS + QUIET_MS);
  fill(run, seed);
  await runUntil(fleet.time.nowMs + FILL_AFTER_MS);
  const before = await standingLosses(run);
  await runUntil(fleet.time.nowMs + FILLS * FILL_EVERY_MS + FILLED_MS);
  if (checker.violation === undefined) await checkStillStands(run, before);
  if (checker.violation === undefined) await checkAtRest(run);
  const loss = checker.violation === undefined ? await loseOne(run, seed) : undefined;
  if (loss) {
    await runUntil(fleet.time.nowMs + MOVED_MS);
    if (checker.violation === undefined) await checkRunAgain(run, loss);
    if (checker.violation === undefined) await checkAtRest(run);
  }
  // Requests that still wait for a signal would keep all of it in memory.
  fleet.server.close();
  return resultOf(run, plan);
}

/** Builds end well from now on; a guarantee is set, and tenants ask for more than fits, one after the other or several at once. */
function fill(run: RacksRun, seed: number): void {
  const { fleet } = run;
  const random = seededRandom(seedOf(`${seed} fill`));
  for (const machine of fleet.machines.values()) machine.failureShare = 0;
  setGuarantee(random)(run);
  const isAtOnce = random.next() < 0.5;
  for (let n = 1; n <= FILLS; n++) {
    const builds = isAtOnce ? buildAtOnce(random) : build(random);
    fleet.time.at(fleet.time.nowMs + FILL_AFTER_MS + n * FILL_EVERY_MS, () => builds(run));
  }
}
