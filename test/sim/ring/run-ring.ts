import { HORIZON_MS } from '../world/draw-plan';
import { START_MS } from '../world/processes';
import { begin, type RunOptions, type RunResult, resultOf, type World } from '../world/run';
import { checkAtRest, checkServed } from './at-rest';
import { KIND_NAMES, planOf } from './plan';
import { NODE_NAMES } from './rack';
import { RingChecker } from './ring-checker';
import { OTHERS, RingWorld, SERVICES } from './ring-world';
import { LEASE_MS } from './settings';

/**
 * Time after the last fault: the leases of agents that died then and of the membership, two renewals of a ring and two rounds of asking. A
 * node that two agents hand to each other takes that twice.
 */
const SERVED_MS = 2 * LEASE_MS + 12_000;
/** Time for builds, and to rebuild or clean after late failures. */
const QUIET_MS = 75_000;

/** Agents that share nodes by a ring. */
export const RING: World = {
  kinds: KIND_NAMES,
  parties: [...OTHERS, 'broker', ...SERVICES, 'store', 'rack', ...NODE_NAMES, 'world'],
  run: runRing,
};

async function runRing({ seed, actionCount, kept, focus }: RunOptions): Promise<RunResult> {
  const fleet = new RingWorld(seed);
  const checker = new RingChecker(fleet);
  const plan = planOf(seed, actionCount, focus).filter(({ number }) => kept?.includes(number) ?? true);
  await fleet.start();
  const { runUntil } = begin({ fleet, checker }, plan);
  await runUntil(START_MS + HORIZON_MS);
  fleet.heal();
  await runUntil(START_MS + HORIZON_MS + SERVED_MS);
  if (checker.violation === undefined) await checkServed(fleet, checker);
  await runUntil(START_MS + HORIZON_MS + QUIET_MS);
  if (checker.violation === undefined) await checkAtRest(fleet, checker);
  // Requests that still wait for a signal would keep all of it in memory.
  fleet.server.close();
  return resultOf({ fleet, checker }, plan);
}
