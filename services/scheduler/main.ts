import { openBus } from '#libs/bus/open';
import { busOptions } from '#libs/bus/options';
import { refuseTop } from '#libs/domain/cells/cell';
import { openInstanceStore } from '#libs/instances/open';
import { announce } from '#libs/placement/announce';
import { Mirror } from '#libs/placement/mirror/mirror';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import { claimKeyOf, refusePublishedKey } from '#libs/placement/sealed/claim-key';
import { addressOptions } from '#libs/runtime/options';
import type { ServiceProcess } from '#libs/runtime/run-service';
import { schedulerOptions } from './options';
import { startScheduler } from './start';

const tables = {
  bus: { busUrl: addressOptions.busUrl, ...busOptions },
  placement: placementOptions,
  scheduler: schedulerOptions,
} as const;

/** `berth scheduler`: finds a host for each instance and claims it. */
export const scheduler: ServiceProcess<typeof tables> = {
  name: 'scheduler',
  prefix: 'BERTH_SCHEDULER_',
  tables,
  async start(config, opening) {
    refuseTop(config.placement.cell);
    refusePublishedKey(config.scheduler.claimKey, config.bus.busUrl, config.placement.storeUrl);
    const bus = await opening.open('bus', openBus(config.bus, opening));
    const placement = await opening.open('placement store', openPlacementStore(config.placement, opening));
    await opening.open('presence', announce(placement, 'scheduler', { ...opening, clock: placement.clock }));
    const instances = await opening.open(
      'instance store',
      openInstanceStore(config.placement, { ...opening, onlyReads: true }),
    );
    const mirror = await opening.open('mirror', Mirror.open(placement, opening));
    const claimKey = claimKeyOf(config.placement.cell, config.scheduler.claimKey);
    const own = { ...config.scheduler, claimKey };
    return startScheduler({ ...opening, clock: placement.clock, bus, placement, instances, mirror, config: own });
  },
};
