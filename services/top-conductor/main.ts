import { openBus } from '#libs/bus/open';
import { busOptions } from '#libs/bus/options';
import { openCellBus, requireTop } from '#libs/cells/open';
import { readCells } from '#libs/cells/options';
import { openInstanceStore } from '#libs/instances/open';
import { announce } from '#libs/placement/announce';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import { addressOptions } from '#libs/runtime/options';
import type { ServiceProcess } from '#libs/runtime/run-service';
import { topConductorOptions } from './options';
import { startTopConductor } from './start';

const tables = {
  bus: { busUrl: addressOptions.busUrl, ...busOptions },
  placement: placementOptions,
  topConductor: topConductorOptions,
} as const;

/** `berth top-conductor`: takes build requests for a fleet of several cells. */
export const topConductor: ServiceProcess<typeof tables> = {
  name: 'top-conductor',
  prefix: 'BERTH_TOP_CONDUCTOR_',
  tables,
  async start(config, opening) {
    requireTop(config.placement.cell);
    const addresses = readCells(config.topConductor.cells, config.bus.busUrl);
    const instances = await opening.open('instance store', openInstanceStore(config.placement, opening));
    const placement = await opening.open('placement store', openPlacementStore(config.placement, opening));
    await opening.open('presence', announce(placement, 'top-conductor', { ...opening, clock: placement.clock }));
    const bus = await opening.open('bus', openBus(config.bus, opening));
    const urls = new Map(addresses.map(({ cell, busUrl }) => [cell, busUrl]));
    return startTopConductor({
      ...opening,
      bus,
      instances,
      placement,
      leases: instances,
      flavors: instances,
      cells: [...urls.keys()],
      openCell: (cell) => openCellBus({ ...config.bus, busUrl: urls.get(cell) ?? config.bus.busUrl }, cell, opening),
      config: config.topConductor,
    });
  },
};
