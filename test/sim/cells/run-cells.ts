import { TOP } from '#libs/domain/cells/cell';
import { HORIZON_MS } from '../world/draw-plan';
import { START_MS } from '../world/processes';
import { begin, type RunOptions, type RunResult, resultOf, type World } from '../world/run';
import { checkAtRest, checkWithoutTop } from './at-rest';
import { CellsChecker } from './cells-checker';
import { CELLS, CellsWorld, OTHERS, SERVICES } from './cells-world';
import { putIntoZones, TOP_AWAY_MS } from './operators';
import { KIND_NAMES, planOf } from './plan';

/** The fleet's time, then a comparison by the top; a top that was away needs both after its return. */
const QUIET_MS = 75_000;

/** Two cells and their top. */
export const CELLS_WORLD: World = {
  kinds: KIND_NAMES,
  parties: [
    ...OTHERS,
    'broker',
    ...SERVICES,
    'store',
    ...CELLS.map((cell) => `cell ${cell}`),
    'a-h1',
    'a-h2',
    'b-h1',
    'b-h2',
    TOP,
    'world',
  ],
  run: runCells,
};

async function runCells({ seed, actionCount, kept, focus }: RunOptions): Promise<RunResult> {
  const fleet = new CellsWorld(seed);
  const checker = new CellsChecker(fleet);
  const plan = planOf(seed, actionCount, focus).filter(({ number }) => kept?.includes(number) ?? true);
  await fleet.start();
  putIntoZones({ fleet, checker });
  const { runUntil } = begin({ fleet, checker }, plan);
  await runUntil(START_MS + HORIZON_MS);
  fleet.heal();
  await runUntil(START_MS + HORIZON_MS + TOP_AWAY_MS);
  if (checker.violation === undefined && checker.isTopAway) checkWithoutTop(checker);
  await runUntil(START_MS + HORIZON_MS + QUIET_MS);
  if (checker.violation === undefined) await checkAtRest(fleet, checker);
  // Requests that still wait for a signal would keep all of it in memory.
  for (const { server } of Object.values(fleet.servers)) server.close();
  return resultOf({ fleet, checker }, plan);
}
