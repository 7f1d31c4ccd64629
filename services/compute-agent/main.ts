import { join } from 'node:path';
import { openBus } from '#libs/bus/open';
import { busOptions } from '#libs/bus/options';
import type { Bus } from '#libs/bus/port';
import { refuseTop } from '#libs/domain/cells/cell';
import { addressOptions } from '#libs/runtime/options';
import type { Opening, ServiceProcess } from '#libs/runtime/run-service';
import { serveHeartbeats } from './drivers/baremetal/heartbeats';
import { nodeSource } from './drivers/baremetal/open-nodes';
import { driverFromConfig } from './drivers/open-driver';
import { type FormerRun, noFormerRun, openFormerRun } from './holding/former-run';
import { ownState } from './holding/state-owner';
import { hostNames } from './host/host-facts';
import { type AgentConfig, agentOptions } from './options';
import { listNodes } from './pool/list-nodes';
import type { PoolNodes } from './pool/open-node';
import { startComputeAgent } from './start';

/** Stored beside the journal of the first host. */
function formerRunOf(config: AgentConfig): Promise<FormerRun> {
  const [first = config.host] = hostNames(config);
  return config.stateDir === '' ? Promise.resolve(noFormerRun) : openFormerRun(join(config.stateDir, first));
}

/** The nodes of an agent that shares a pool. */
async function poolNodes(config: AgentConfig, opening: Opening, bus: Bus): Promise<PoolNodes | undefined> {
  if (config.driver !== 'baremetal') return undefined;
  const source = nodeSource(config, opening);
  const { heartbeatHost: host, heartbeatPort: port, heartbeatSecret: secret } = config;
  const proof =
    secret === ''
      ? undefined
      : await opening.open('heartbeats', serveHeartbeats({ host, port, secret, log: opening.log }));
  const descriptions = await listNodes(source, { ...opening, bus, config });
  return { descriptions, controller: (name) => source.controller(name), proof };
}

const tables = { bus: { busUrl: addressOptions.busUrl, ...busOptions }, agent: agentOptions } as const;

/** `berth compute-agent`: a service host of one host, or of many fake ones. */
export const computeAgent: ServiceProcess<typeof tables> = {
  name: 'compute-agent',
  prefix: 'BERTH_AGENT_',
  tables,
  async start(config, opening) {
    refuseTop(config.agent.cell);
    const { stateDir, cell, host } = config.agent;
    const formerRun = await opening.open('state folder', formerRunOf(config.agent));
    // Before the bus, whose opening waits for an absent broker: an operator who renamed the machine sees the error at
    // once.
    if (stateDir !== '') await ownState(stateDir, { cell, host });
    const bus = await opening.open('bus', openBus(config.bus, opening));
    const nodes = await poolNodes(config.agent, opening, bus);
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
