import { CELLS_WORLD } from '../cells/run-cells';
import { RACKS_WORLD } from '../racks/run-racks';
import { RING } from '../ring/run-ring';
import { FLEET } from '../run-seed';
import type { RunOptions, RunResult, World, WorldName } from './run';

export const WORLDS: Readonly<Record<WorldName, World>> = {
  fleet: FLEET,
  ring: RING,
  cells: CELLS_WORLD,
  racks: RACKS_WORLD,
};

/** @throws Error when there is no such world; it names all */
export function worldOf(name: string = 'fleet'): World {
  const world = WORLDS[name as WorldName];
  if (world) return world;
  throw new Error(`there is no world '${name}'; there are: ${Object.keys(WORLDS).join(', ')}`);
}

/** One run, from the start of a world until it is at rest or something is wrong. */
export function runSeed(options: RunOptions): Promise<RunResult> {
  return worldOf(options.world).run(options);
}

/** @throws Error when nothing of that kind happens in a world; it names all */
export function requireKinds(world: WorldName | undefined, focus: readonly string[]): readonly string[] {
  const { kinds } = worldOf(world);
  for (const name of focus) {
    if (!kinds.includes(name)) throw new Error(`there is no kind '${name}'; there are: ${kinds.join(', ')}`);
  }
  return focus;
}
