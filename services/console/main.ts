import { authOptions } from '#libs/auth/options';
import { openBus } from '#libs/bus/open';
import { busOptions } from '#libs/bus/options';
import { openInstanceStore } from '#libs/instances/open';
import { Mirror } from '#libs/placement/mirror/mirror';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import { addressOptions } from '#libs/runtime/options';
import type { ServiceProcess } from '#libs/runtime/run-service';
import { environment } from '#libs/runtime/system';
import { consoleOptions } from './options';
import { berthProcesses } from './rehearsals/berth-process';
import { startConsole } from './start';

const tables = {
  bus: { busUrl: addressOptions.busUrl, ...busOptions },
  placement: placementOptions,
  auth: authOptions,
  console: consoleOptions,
} as const;

/** `berth console`: the fleet, its hosts, instances and builds in a browser. */
export const webConsole: ServiceProcess<typeof tables> = {
  name: 'console',
  prefix: 'BERTH_CONSOLE_',
  tables,
  async start(config, opening) {
    const reading = { ...opening, onlyReads: true };
    const placement = await opening.open('placement store', openPlacementStore(config.placement, reading));
    const instances = await opening.open('instance store', openInstanceStore(config.placement, reading));
    const mirror = await opening.open('mirror', Mirror.open(placement, opening));
    const bus = await opening.open('bus', openBus(config.bus, opening));
    const own = { ...config.auth, ...config.console };
    const { storeUrl, cell } = config.placement;
    const berth = berthProcesses({
      // By the environment, which does not show in lists of processes.
      env: { ...environment(), BERTH_STORE_URL: storeUrl, BERTH_CELL: cell },
      memoryMb: own.rehearsalMemoryMb,
    });
    return startConsole({ ...opening, clock: placement.clock, bus, mirror, instances, placement, config: own, berth });
  },
};
