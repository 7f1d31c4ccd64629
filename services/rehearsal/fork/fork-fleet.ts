import { durationsOf } from '../hosts/durations';
import { contentsOfHosts } from '../hosts/host-contents';
import type { Settings } from '../world/processes';
import type { ForkedFleet } from '../world/rehearsed-fleet';
import type { FleetSnapshot } from './fleet-snapshot';
import { squareUp } from './square-up';

export interface ForkOptions {
  /** Settings of the fleet's services, by variable. */
  readonly settings: Settings;
  /** Length of a build, and of a live migration's copy; taken from records unless given. */
  readonly buildMs?: number | undefined;
  readonly copyMs?: number | undefined;
}

/** A fleet as all its rehearsals begin with it. Nothing of it changes. */
export function forkFleet(snapshot: FleetSnapshot, { settings, ...given }: ForkOptions): ForkedFleet {
  const image = squareUp(snapshot.placement);
  return {
    snapshot,
    image,
    hosts: contentsOfHosts(snapshot),
    durations: durationsOf(snapshot.instances, given),
    settings,
  };
}
