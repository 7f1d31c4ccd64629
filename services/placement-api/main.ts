import { busOptions } from '#libs/bus/options';
import { TOP } from '#libs/domain/cells/cell';
import { announce } from '#libs/placement/announce';
import { Mirror } from '#libs/placement/mirror/mirror';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import { claimKeyOption } from '#libs/placement/sealed/claim-key';
import { addressOptions } from '#libs/runtime/options';
import type { ServiceProcess } from '#libs/runtime/run-service';
import { lazyClient } from './builds/lazy-client';
import { placementApiOptions } from './options';
import { startPlacementApi } from './start';

const tables = {
  bus: { busUrl: addressOptions.busUrl, ...busOptions },
  placement: placementOptions,
  api: placementApiOptions,
  claim: { claimKey: claimKeyOption },
} as const;

/** `berth placement-api`: OpenStack Placement's HTTP API on Berth's store, and the API to build. */
export const placementApi: ServiceProcess<typeof tables> = {
  name: 'placement-api',
  prefix: 'BERTH_PLACEMENT_',
  tables,
  isBusOptional: true,
  async start(config, opening) {
    const placement = await opening.open('placement store', openPlacementStore(config.placement, opening));
    await opening.open('presence', announce(placement, 'placement-api', { ...opening, clock: placement.clock }));
    const mirror = await opening.open('mirror', Mirror.open(placement, opening));
    const builds = lazyClient(config.bus, config.claim.claimKey, opening);
    const isTop = config.placement.cell === TOP;
    const opened = { clock: placement.clock, placement, mirror, builds, isTop };
    return startPlacementApi({ ...opening, ...opened, config: config.api });
  },
};
