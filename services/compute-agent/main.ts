import { join } from 'node:path';
import { openBus } from '#libs/bus/open';
import { busOptions } from '#libs/bus/options';
import { refuseTop } from '#libs/domain/cells/cell';
import { addressOptions } from '#libs/runtime/options';
import type { ServiceProcess } from '#libs/runtime/run-service';
import { nodeSource } from './drivers/baremetal/open-nodes';
import { driverFromConfig } from './drivers/open-driver';
import { type FormerRun, noFormerRun, openFormerRun } from './holding/former-run';
import { ownState } from './holding/state-owner';
import { hostNames } from './host/host-facts';
import { type AgentConfig, agentOptions } from './options';
import type { PoolNodes } from './pool/open-node';
import { startComputeAgent } from './start';

/** Beside the journal of the first host. */
function formerRunOf(config: AgentConfig): Promise<FormerRun> {
  const [first = config.host] = hostNames(config);
  return config.stateDir === '' ? Promise.resolve(noFormerRun) : openFormerRun(join(config.stateDir, first));
}

/** Of an agent that shares a pool. */
async function poolNodes(config: AgentConfig): Promise<PoolNodes | undefined> {
  if (config.driver !== 'baremetal') return undefined;
  const source = nodeSource(config);
  return { descriptions: await source.list(), controller: (name) => source.controller(name) };
}

const tables = { bus: { busUrl: addressOptions.busUrl, ...busOptions }, agent: agentOptions } as const;

/** `berth compute-agent`: a service host of one host, or of many fake ones. */
export const computeAgent: ServiceProcess<typeof tables> = {
  name: 'compute-agent',
  prefix: 'BERTH_AGENT_',
  tables,
  async start(config, opening) {
    refuseTop(config.agent.cell);
    const bus = await opening.open('bus', openBus(config.bus, opening));
    const { stateDir, cell, host } = config.agent;
    const formerRun = await opening.open('state folder', formerRunOf(config.agent));
    if (stateDir !== '') await ownState(stateDir, { cell, host });
    const nodes = await poolNodes(config.agent);
    return startComputeAgent({
      ...opening,
      nodes,
      bus,
      formerRun,
      config: config.agent,
      driver: driverFromConfig(config.agent, opening),
    });
  },
};
