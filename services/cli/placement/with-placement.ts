import type { Command } from 'commander';
import { placementSettings } from '../client-options';
import type { Context } from '../context';
import { addSettingFlags, readSettings } from '../settings';
import { createPlacementClient, type PlacementClient } from './placement-client';

/** Gives a command the flags that say where the placement API is. */
export function addPlacementFlags(command: Command): Command {
  return addSettingFlags(command, placementSettings);
}

/** A client of the placement API that a command's settings name. */
export function placementFor({ env, clock, interrupted }: Context, command: Command): PlacementClient {
  const { placement } = readSettings(placementSettings, command, env);
  return createPlacementClient({ ...placement, clock, interrupted });
}
