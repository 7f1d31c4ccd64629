import type { ChildProcess } from 'node:child_process';
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
import type { TestServer } from '#libs/testing/servers/server-process';
import { type RabbitmqServer, startRabbitmq, startRedis } from '#libs/testing/servers/servers';
import { RedfishSimulator } from '../../../services/compute-agent/testing/redfish-simulator';
import { endAllBerth, startBerth } from '../berth-process';

const LEASE_REPORTS = 2;
const POLL_MS = 250;
const GIVEN_UP_AFTER_MS = 900_000;

export interface PoolShape {
  readonly nodeCount: number;
  readonly agentCount: number;
  readonly reportIntervalMs: number;
}

/** Private servers, and the agents of a pool; this process simulates the nodes' controllers. */
export class PoolServers {
  readonly leaseMs: number;
  readonly names: readonly string[];
  readonly #folder = mkdtempSync(join(tmpdir(), 'berth-bench-pool-'));
  readonly #env: Readonly<Record<string, string>>;

  private constructor(
    private readonly shape: PoolShape,
    readonly rabbitmq: RabbitmqServer,
    readonly redis: TestServer,
    private readonly simulator: RedfishSimulator,
    readonly store: PlacementStore,
  ) {
    this.leaseMs = LEASE_REPORTS * shape.reportIntervalMs;
    this.names = namesOf(shape);
    const nodes = this.names.map((name) => ({ name, class: 'GOLD', redfish: simulator.systemUrl(name) }));
    writeFileSync(join(this.#folder, 'nodes.json'), JSON.stringify(nodes));
    this.#env = {
      BERTH_BUS_URL: rabbitmq.url,
      BERTH_STORE_URL: redis.url,
      BERTH_HTTP_PORT: '0',
      BERTH_SCHEDULER_HOST_TIMEOUT_MS: String(6 * this.leaseMs),
    };
  }

  static async start(shape: PoolShape): Promise<PoolServers> {
    const [rabbitmq, redis, simulator] = await Promise.all([
      startRabbitmq({ hasMetrics: true }),
      startRedis({ appendOnly: true }),
      RedfishSimulator.start({ nodes: namesOf(shape) }),
    ]);
    const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };
    const store = await openPlacementStore(readConfig(placementOptions, { BERTH_STORE_URL: redis.url }), around);
    return new PoolServers(shape, rabbitmq, redis, simulator, store);
  }

  startScheduler(env: Readonly<Record<string, string>> = {}): ChildProcess {
    return startBerth('scheduler', { ...this.#env, ...env });
  }

  /** Named agent-1 and so on. */
  startAgents(): ChildProcess[] {
    const { agentCount, reportIntervalMs } = this.shape;
    return Array.from({ length: agentCount }, (_, n) =>
      startBerth('compute-agent', {
        ...this.#env,
        BERTH_AGENT_HOST: `agent-${n + 1}`,
        BERTH_AGENT_DRIVER: 'baremetal',
        BERTH_AGENT_POOL: 'bench',
        BERTH_AGENT_NODES: join(this.#folder, 'nodes.json'),
        BERTH_AGENT_NODE_START: 'available',
        BERTH_AGENT_REDFISH_PASSWORD: 'secret',
        BERTH_AGENT_REPORT_INTERVAL_MS: String(reportIntervalMs),
        BERTH_AGENT_LEASE_REPORTS: String(LEASE_REPORTS),
      }),
    );
  }

  /** Each node with the agent of its last report in the schedulers; '' before the first. */
  async managersOf(names: readonly string[]): Promise<(readonly [string, string])[]> {
    const hosts = new Map((await this.store.hosts(names)).map(({ name, serviceHost }) => [name, serviceHost]));
    return names.map((name) => [name, hosts.get(name) ?? '']);
  }

  /** Seconds until all agents have reported all nodes. */
  async allServed(note: (text: string) => void): Promise<number> {
    const startedMs = performance.now();
    const { names } = this;
    for (let told = -1; ; ) {
      const managers = (await this.managersOf(names)).map(([, manager]) => manager).filter((manager) => manager !== '');
      const sharing = new Set(managers).size;
      const passedMs = performance.now() - startedMs;
      if (managers.length === names.length && sharing === this.shape.agentCount) return passedMs / 1_000;
      if (passedMs > GIVEN_UP_AFTER_MS) throw new Error(`only ${managers.length} nodes are managed`);
      if (managers.length >= told + names.length / 10) {
        note(`${managers.length} nodes by ${sharing} agents`);
        told = managers.length;
      }
      await sleep(4 * POLL_MS);
    }
  }

  /** Measures the time until other agents have reported half, and all, of these nodes. */
  async othersServe(agent: string, names: readonly string[]) {
    const startedMs = performance.now();
    let halfMs = 0;
    for (;;) {
      const left = (await this.managersOf(names)).filter(([, manager]) => manager === agent).length;
      const passedMs = performance.now() - startedMs;
      if (halfMs === 0 && left <= names.length / 2) halfMs = passedMs;
      if (left === 0) return { halfMs, allMs: passedMs };
      if (passedMs > GIVEN_UP_AFTER_MS) throw new Error(`${left} nodes are not served again`);
      await sleep(POLL_MS);
    }
  }

  async stop(): Promise<void> {
    await endAllBerth();
    await this.store.close();
    await Promise.all([this.rabbitmq.stop(), this.redis.stop(), this.simulator.stop()]);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function namesOf({ nodeCount }: PoolShape): string[] {
  return Array.from({ length: nodeCount }, (_, n) => `node-${n + 1}`);
}
