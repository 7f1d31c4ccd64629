import { openBus } from '#libs/bus/open';
import { busOptions } from '#libs/bus/options';
import { CellLink } from '#libs/cells/cell-link';
import { openCellBus, openCellStore, requireTop } from '#libs/cells/open';
import { readCells } from '#libs/cells/options';
import { announce } from '#libs/placement/announce';
import { Mirror } from '#libs/placement/mirror/mirror';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import { addressOptions } from '#libs/runtime/options';
import type { ServiceProcess } from '#libs/runtime/run-service';
import { topSchedulerOptions } from './options';
import { startTopScheduler } from './start';

const tables = {
  bus: { busUrl: addressOptions.busUrl, ...busOptions },
  placement: placementOptions,
  topScheduler: topSchedulerOptions,
} as const;

/** `berth top-scheduler`: chooses a cell for each request of the fleet. */
export const topScheduler: ServiceProcess<typeof tables> = {
  name: 'top-scheduler',
  prefix: 'BERTH_TOP_SCHEDULER_',
  tables,
  async start(config, opening) {
    requireTop(config.placement.cell);
    const addresses = readCells(config.topScheduler.cells, config.bus.busUrl);
    const bus = await opening.open('bus', openBus(config.bus, opening));
    const cells = await opening.open('store', openCellStore(config.placement, opening));
    const placement = await opening.open('placement store', openPlacementStore(config.placement, opening));
    await opening.open('presence', announce(placement, 'top-scheduler', { ...opening, clock: placement.clock }));
    const mirror = await opening.open('mirror', Mirror.open(placement, opening));
    const links: CellLink[] = [];
    for (const { cell, busUrl } of addresses) {
      const open = () => openCellBus({ ...config.bus, busUrl }, cell, opening);
      links.push(await opening.open(`cell ${cell}`, new CellLink(cell, open, opening)));
    }
    return startTopScheduler({ ...opening, bus, cells, placement, mirror, links, config: config.topScheduler });
  },
};
