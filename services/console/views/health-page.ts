import { DEAD_LETTERS } from '#libs/bus/port';
import {
  BUILD_REQUESTS,
  BUILD_RESULTS,
  HOST_LEASES,
  RPC_CONDUCTOR,
  RPC_SCHEDULER,
  STATS,
} from '#libs/contracts/queues';
import { ANNOUNCE_MS } from '#libs/placement/announce';
import { lostUpToMs } from '#libs/placement/port/store-identity';
import { berthVersion } from '#libs/runtime/manifest';
import type { AgentRow, CellRow, HealthPage, ProcessRow, QueueRow, StoreFacts } from '../api/health';
import type { Live } from '../live/live';

/** A process that missed so many of its turns is silent. */
const MISSED_TURNS = 3;
/** Limit of the agents that a page gets. */
const MOST_AGENTS = 500;
const QUEUES = [BUILD_REQUESTS, BUILD_RESULTS, RPC_SCHEDULER, RPC_CONDUCTOR, STATS, HOST_LEASES];
const VERSION = berthVersion();

/** Reads what the page of health shows. What does not answer is shown as such; the rest of the page goes on. */
export async function readHealthPage(live: Live): Promise<HealthPage> {
  const [processes, agents, queues, store, cells] = await Promise.all([
    readProcesses(live).catch(() => undefined),
    readAgents(live),
    readQueues(live),
    readStore(live),
    readCells(live),
  ]);
  const shown = agents.slice(0, MOST_AGENTS);
  return { version: VERSION, processes, agents: shown, agentCount: agents.length, queues, store, cells };
}

/** The processes that announced themselves in the last day. */
export async function readProcesses({ parts: { placement }, clock }: Live): Promise<ProcessRow[]> {
  const silentSinceMs = clock.now() - MISSED_TURNS * ANNOUNCE_MS;
  return (await placement.processes()).map((process) => {
    const state = process.seenAtMs < silentSinceMs ? 'silent' : process.problem === '' ? 'ready' : 'not_ready';
    return { ...process, state } as const;
  });
}

async function readAgents({ parts: { mirror, placement } }: Live): Promise<AgentRow[]> {
  const hosts = [...mirror.hosts()];
  const heard = await placement.heardAt(hosts.map(({ name }) => name)).catch(() => undefined);
  const agents = new Map<string, { hosts: number; down: number; heardAtMs: number }>();
  for (const { name, serviceHost, up } of hosts) {
    const agent = agents.get(serviceHost) ?? { hosts: 0, down: 0, heardAtMs: heard === undefined ? -1 : 0 };
    agents.set(serviceHost, agent);
    agent.hosts += 1;
    if (!up) agent.down += 1;
    agent.heardAtMs = Math.max(agent.heardAtMs, heard?.get(name) ?? agent.heardAtMs);
  }
  const rows = [...agents].map(([name, agent]) => ({ name, ...agent }));
  return rows.sort((a, b) => b.down - a.down || (a.name < b.name ? -1 : 1));
}

function readQueues({ parts: { bus } }: Live): Promise<QueueRow[]> {
  const depthOf = (name: string) => bus.depth(name).catch(() => -1);
  const rows = QUEUES.map(async ({ name, maxLength = 0 }) => ({ name, depth: await depthOf(name), limit: maxLength }));
  return Promise.all([...rows, depthOf(DEAD_LETTERS).then((depth) => ({ name: DEAD_LETTERS, depth, limit: 0 }))]);
}

async function readStore(live: Live): Promise<StoreFacts> {
  const { stale } = live.shell();
  const askedAtMs = live.clock.elapsed();
  try {
    const identity = await live.parts.placement.identify();
    const { bornAtMs, revision } = identity;
    const answeredInMs = live.clock.elapsed() - askedAtMs;
    return { answeredInMs, bornAtMs, revision, lostUpToMs: lostUpToMs(identity), stale };
  } catch {
    return { answeredInMs: -1, bornAtMs: 0, revision: 0, lostUpToMs: 0, stale };
  }
}

/** Only the schedulers of a top know cells. */
async function readCells({ parts: { client, config }, clock }: Live): Promise<CellRow[]> {
  const cells = await client.cells().catch(() => []);
  const urls = new Map(
    config.cellUrls.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  );
  return cells.map(({ name, state, isReachable, unreachableReason, summary, summaryAgeMs }) => ({
    name,
    url: urls.get(name) ?? '',
    state,
    problem: isReachable ? '' : unreachableReason || 'not reachable',
    hosts: summary?.hostCount ?? 0,
    available: summary?.availableCount ?? 0,
    heardAtMs: summary === undefined ? 0 : clock.now() - summaryAgeMs,
  }));
}
