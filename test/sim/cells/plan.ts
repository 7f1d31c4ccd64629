import { TOP } from '#libs/domain/cells/cell';
import type { Random } from '#libs/domain/random';
import { pick } from '../actions/common';
import { type Action, drawPlan, type Kind, kind } from '../world/draw-plan';
import { byHowMuch, faultsOf, usualFaults } from '../world/faults';
import type { CellsRun, Perform } from './cells-checker';
import { CELLS, OTHERS, SERVICES } from './cells-world';
import {
  cellOutOfService,
  cellUnreachable,
  hostStandsStill,
  lastOfQuota,
  limitsTenant,
  schedulersDie,
  staleSummaries,
  topAway,
} from './operators';
import {
  beginGroup,
  build,
  buildAndTerminate,
  buildGang,
  buildGangOfKinds,
  buildInCell,
  buildInGroup,
  buildMany,
  buildOverZones,
  moveOverZones,
  moveToCell,
  namesOthers,
  stopOrStart,
  terminate,
  terminateInCell,
} from './tenants';

const aCell = (random: Random) => pick(random, [TOP, ...CELLS]);

const faults = faultsOf<CellsRun>({
  services: SERVICES,
  senders: [...SERVICES, ...OTHERS],
  linkCount: 4,
  serversOf: (random) => {
    const cell = aCell(random);
    return ({ fleet }) => fleet.serversOfCell(cell);
  },
});

/** Kinds of actions on cells and their top. */
const KINDS = {
  build: kind(1, 50, build),
  terminate: kind(1, 25, terminate),
  'build many': kind(0.5, 6, buildMany),
  'build a gang': kind(0.5, 8, buildGang),
  'build a gang of kinds': kind(0.4, 5, buildGangOfKinds),
  'build in a group': kind(0.5, 12, buildInGroup),
  'begin a group': kind(0.4, 6, beginGroup),
  'build in a cell': kind(0.5, 10, buildInCell),
  'terminate in a cell': kind(0.4, 5, terminateInCell),
  'build and terminate': kind(0.5, 8, buildAndTerminate),
  'move to a cell': kind(0.6, 16, moveToCell),
  'stop or start': kind(0.5, 10, stopOrStart),
  'tenant is limited': kind(0.4, 5, limitsTenant),
  'last of a quota': kind(0.5, 6, lastOfQuota),
  'cell out of service': kind(0.4, 6, cellOutOfService),
  'cell unreachable': kind(0.5, 10, cellUnreachable),
  'top is away': kind(0.2, 6, topAway),
  'schedulers die': kind(0.4, 6, schedulersDie),
  'summaries are stale': kind(0.4, 5, staleSummaries),
  ...usualFaults(faults),
  // More often than elsewhere, as there are more processes.
  kill: kind(0.5, 12, faults.kill),
  'die in the middle': kind(0.6, 16, faults.dieInTheMiddle),
  'store away': kind(0.4, 8, faults.storeAway),
  'store goes back': kind(0.15, 4, storeGoesBack),
  'store is wiped': kind(0.1, 4, storeIsWiped),
  'clock jumps': kind(0.4, 6, faults.clockJumps),
  'black hole': kind(0.3, 4, faults.blackHole),
  'build over zones': kind(0.5, 10, buildOverZones),
  'move over zones': kind(0.5, 10, moveOverZones),
  'host stands still with orders': kind(0.4, 5, hostStandsStill),
  'store goes back in builds': kind(0.15, 4, storeGoesBackInBuilds),
  "name what is others'": kind(0.3, 4, namesOthers),
} satisfies Readonly<Record<string, Kind<CellsRun>>>;

export const KIND_NAMES = Object.keys(KINDS);

export function planOf(seed: number, actionCount: number, focus?: readonly string[]): Action<CellsRun>[] {
  return drawPlan<CellsRun>(KINDS, seed, actionCount, focus);
}

function storeGoesBack(random: Random): Perform {
  const cell = aCell(random);
  const byMs = byHowMuch(random);
  return ({ fleet, checker }) => void checker.storeGoesBackTo(cell, fleet.time.nowMs - byMs);
}

/** The store of a cell goes back while its hosts build instances that it then forgets. */
function storeGoesBackInBuilds(random: Random): Perform {
  const cell = pick(random, CELLS);
  const builds = [buildInCell(random), build(random), buildMany(random)];
  const afterMs = 200 + random.next() * 1_500;
  const byMs = random.next() * 3_000;
  return (run) => {
    for (const one of builds) one(run);
    run.fleet.later(afterMs, () => void run.checker.storeGoesBackTo(cell, run.fleet.time.nowMs - byMs));
  };
}

function storeIsWiped(random: Random): Perform {
  const cell = aCell(random);
  return ({ checker }) => void checker.storeGoesBackTo(cell, 0);
}
