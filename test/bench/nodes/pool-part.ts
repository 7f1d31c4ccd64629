import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { freePort } from '#libs/testing/servers/server-process';
import { startRabbitmq, startRedis } from '#libs/testing/servers/servers';
import { RedfishSimulator } from '../../../services/compute-agent/testing/redfish-simulator';
import { endAllBerth, endBerth, startBerth } from '../berth-process';
import { type BenchContext, measureRate, type Results, round } from '../harness';
import { ServerLoad } from './server-load';

const LEASE_REPORTS = 2;
const POLL_MS = 250;
const GIVEN_UP_AFTER_MS = 900_000;
const IN_FLIGHT = 128;

/** Agents that share a pool of nodes: what they cost at rest, and how long a dead one's share is nobody's. */
export async function measurePool(context: BenchContext): Promise<Results> {
  const { flags } = context;
  const note = (text: string) => context.note(text);
  const nodeCount = Number(flags['nodes'] ?? 10_000);
  const agentCount = Number(flags['agents'] ?? 10);
  const seconds = Number(flags['seconds'] ?? 60);
  const reportIntervalMs = Number(flags['report-interval-ms'] ?? 20_000);
  const leaseMs = LEASE_REPORTS * reportIntervalMs;
  const names = Array.from({ length: nodeCount }, (_, n) => `node-${n + 1}`);
  const [rabbitmq, redis, simulator] = await Promise.all([
    startRabbitmq({ hasMetrics: true }),
    startRedis({ appendOnly: true }),
    RedfishSimulator.start({ nodes: names }),
  ]);
  const folder = mkdtempSync(join(tmpdir(), 'berth-bench-pool-'));
  const nodes = names.map((name) => ({ name, class: 'GOLD', redfish: simulator.systemUrl(name) }));
  writeFileSync(join(folder, 'nodes.json'), JSON.stringify(nodes));
  const addresses = { BERTH_BUS_URL: rabbitmq.url, BERTH_STORE_URL: redis.url };
  const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const store = await openPlacementStore(readConfig(placementOptions, addresses), around);
  const common = { ...addresses, BERTH_HTTP_PORT: '0', BERTH_SCHEDULER_HOST_TIMEOUT_MS: String(6 * leaseMs) };
  const agentEnv = {
    ...common,
    BERTH_AGENT_DRIVER: 'baremetal',
    BERTH_AGENT_POOL: 'bench',
    BERTH_AGENT_NODES: join(folder, 'nodes.json'),
    BERTH_AGENT_NODE_START: 'available',
    BERTH_AGENT_REDFISH_PASSWORD: 'secret',
    BERTH_AGENT_REPORT_INTERVAL_MS: String(reportIntervalMs),
    BERTH_AGENT_LEASE_REPORTS: String(LEASE_REPORTS),
  };
  try {
    const schedulerPort = await freePort();
    const scheduler = startBerth('scheduler', { ...common, BERTH_HTTP_PORT: String(schedulerPort) });
    const agents = Array.from({ length: agentCount }, (_, n) =>
      startBerth('compute-agent', { ...agentEnv, BERTH_AGENT_HOST: `agent-${n + 1}` }),
    );
    const [dying] = agents;
    const processes = { scheduler: scheduler.pid ?? 0, agent: agents[1]?.pid ?? 0 };
    const load = await ServerLoad.open({ rabbitmq, redisUrl: redis.url, schedulerPort, processes });
    note(`${agentCount} agents start with ${nodeCount} nodes; a lease is ${leaseMs} ms`);
    const managedS = await allServed(store, names, agentCount, note);
    note(`each node is managed, and each agent has a share; at rest for ${seconds} s`);
    // What is claimed early and given to others has settled.
    await sleep(reportIntervalMs);
    const rest = await load.atRest(seconds);
    const memory = await load.memory();
    const share = (await managersOf(store, names)).filter(([, manager]) => manager === 'agent-1').map(([name]) => name);
    note(`agent-1 is killed; it has ${share.length} nodes`);
    if (dying) await endBerth(dying, 'SIGKILL');
    const takenOver = await othersServe(store, share);
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
    await endAllBerth();
    await store.close();
    await Promise.all([rabbitmq.stop(), redis.stop(), simulator.stop()]);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Each node, and the agent by whose report schedulers know it; '' before the first. */
async function managersOf(store: PlacementStore, names: readonly string[]): Promise<(readonly [string, string])[]> {
  const hosts = new Map((await store.hosts(names)).map(({ name, serviceHost }) => [name, serviceHost]));
  return names.map((name) => [name, hosts.get(name) ?? '']);
}

/** Seconds until all nodes are reported, by all agents. */
async function allServed(
  store: PlacementStore,
  names: readonly string[],
  agentCount: number,
  note: (text: string) => void,
): Promise<number> {
  const startedMs = performance.now();
  for (let told = -1; ; ) {
    const managers = (await managersOf(store, names)).map(([, manager]) => manager).filter((manager) => manager !== '');
    const sharing = new Set(managers).size;
    if (managers.length === names.length && sharing === agentCount) return (performance.now() - startedMs) / 1_000;
    if (performance.now() - startedMs > GIVEN_UP_AFTER_MS) throw new Error(`only ${managers.length} nodes are managed`);
    if (managers.length >= told + names.length / 10) {
      note(`${managers.length} nodes by ${sharing} agents`);
      told = managers.length;
    }
    await sleep(4 * POLL_MS);
  }
}

/** From now until others than the first agent have reported half, and all, of these nodes. */
async function othersServe(store: PlacementStore, names: readonly string[]) {
  const killedMs = performance.now();
  let halfMs = 0;
  for (;;) {
    const left = (await managersOf(store, names)).filter(([, manager]) => manager === 'agent-1').length;
    const passedMs = performance.now() - killedMs;
    if (halfMs === 0 && left <= names.length / 2) halfMs = passedMs;
    if (left === 0) return { halfMs, allMs: passedMs };
    if (passedMs > GIVEN_UP_AFTER_MS) throw new Error(`${left} nodes are not served again`);
    await sleep(POLL_MS);
  }
}
