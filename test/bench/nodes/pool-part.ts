import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '#libs/testing/servers/server-process';
import { endBerth } from '../berth-process';
import { type BenchContext, measureRate, type Results, round } from '../harness';
import { PoolServers } from './pool-servers';
import { ServerLoad } from './server-load';

const IN_FLIGHT = 128;

/** Agents that share a pool of nodes: their cost at rest, and how long a dead agent's share has no holder. */
export async function measurePool(context: BenchContext): Promise<Results> {
  const { flags } = context;
  const note = (text: string) => context.note(text);
  const nodeCount = Number(flags['nodes'] ?? 10_000);
  const agentCount = Number(flags['agents'] ?? 10);
  const seconds = Number(flags['seconds'] ?? 60);
  const reportIntervalMs = Number(flags['report-interval-ms'] ?? 20_000);
  const servers = await PoolServers.start({ nodeCount, agentCount, reportIntervalMs });
  const { rabbitmq, redis, leaseMs, names } = servers;
  try {
    const schedulerPort = await freePort();
    const scheduler = servers.startScheduler({ BERTH_HTTP_PORT: String(schedulerPort) });
    const agents = servers.startAgents();
    const [dying] = agents;
    const processes = { scheduler: scheduler.pid ?? 0, agent: agents[1]?.pid ?? 0 };
    const load = await ServerLoad.open({ rabbitmq, redisUrl: redis.url, schedulerPort, processes });
    note(`${agentCount} agents start with ${nodeCount} nodes; a lease is ${leaseMs} ms`);
    const managedS = await servers.allServed(note);
    note(`each node is managed, and each agent has a share; at rest for ${seconds} s`);
    // Early claims and handovers have settled.
    await sleep(reportIntervalMs);
    const rest = await load.atRest(seconds);
    const memory = await load.memory();
    const share = (await servers.managersOf(names))
      .filter(([, manager]) => manager === 'agent-1')
      .map(([name]) => name);
    note(`agent-1 is killed; it has ${share.length} nodes`);
    if (dying) await endBerth(dying, 'SIGKILL');
    const takenOver = await servers.othersServe('agent-1', share);
    const raw = await measureRate(() => load.bareCommand(), { inFlight: IN_FLIGHT, seconds: 5 });
    await load.close();
    return {
      nodes: nodeCount,
      agents: agentCount,
      report_interval_ms: reportIntervalMs,
      lease_ms: leaseMs,
      all_managed_s: round(managedS),
      ...rest,
      raw_redis_commands_per_s: raw.perSecond,
      ...memory,
      dead_agents_nodes: share.length,
      half_served_again_s: round(takenOver.halfMs / 1_000),
      all_served_again_s: round(takenOver.allMs / 1_000),
      all_served_beyond_lease_s: round((takenOver.allMs - leaseMs) / 1_000),
    };
  } finally {
    await servers.stop();
  }
}
