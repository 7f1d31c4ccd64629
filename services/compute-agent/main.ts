import { openBus } from '#libs/bus/open';
import { busOptions } from '#libs/bus/options';
import { addressOptions } from '#libs/runtime/options';
import type { ServiceProcess } from '#libs/runtime/run-service';
import { driverFromConfig } from './drivers/open-driver';
import { agentOptions } from './options';
import { startComputeAgent } from './start';

const tables = { bus: { busUrl: addressOptions.busUrl, ...busOptions }, agent: agentOptions } as const;

/** `berth compute-agent`: a service host of one host, or of many fake ones. */
export const computeAgent: ServiceProcess<typeof tables> = {
  name: 'compute-agent',
  purpose: 'Run a compute agent: builds instances on its host (or on many fake hosts) and reports what it has.',
  prefix: 'BERTH_AGENT_',
  tables,
  async start(config, opening) {
    const bus = await opening.open('bus', openBus(config.bus, opening));
    return startComputeAgent({
      ...opening,
      bus,
      config: config.agent,
      driver: driverFromConfig(config.agent, opening),
    });
  },
};
