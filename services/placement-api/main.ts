import { announce } from '#libs/placement/announce';
import { Mirror } from '#libs/placement/mirror/mirror';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import type { ServiceProcess } from '#libs/runtime/run-service';
import { placementApiOptions } from './options';
import { startPlacementApi } from './start';

const tables = { placement: placementOptions, api: placementApiOptions } as const;

/** `berth placement-api`: OpenStack Placement's HTTP API on Berth's store. */
export const placementApi: ServiceProcess<typeof tables> = {
  name: 'placement-api',
  prefix: 'BERTH_PLACEMENT_',
  tables,
  async start(config, opening) {
    const placement = await opening.open('placement store', openPlacementStore(config.placement, opening));
    await opening.open('presence', announce(placement, 'placement-api', { ...opening, clock: placement.clock }));
    const mirror = await opening.open('mirror', Mirror.open(placement, opening));
    return startPlacementApi({ ...opening, clock: placement.clock, placement, mirror, config: config.api });
  },
};
