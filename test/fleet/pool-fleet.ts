import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBus } from '#libs/bus/open';
import { busOptions } from '#libs/bus/options';
import type { Bus } from '#libs/bus/port';
import { castTyped } from '#libs/bus/typed-calls';
import { Client } from '#libs/client/client';
import { buildRequestCodec, terminateInstanceCodec } from '#libs/contracts/conductor';
import type { NodeView } from '#libs/contracts/nodes';
import { BUILD_REQUESTS } from '#libs/contracts/queues';
import { sleep } from '#libs/domain/clock';
import type { Instance } from '#libs/domain/instance';
import type { Resources } from '#libs/domain/inventory';
import { openInstanceStore } from '#libs/instances/open';
import type { InstanceStore } from '#libs/instances/store';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { anEncodedSpec } from '#libs/testing/instances/request-spec';
import { type Child, startChild } from '#libs/testing/servers/child';
import type { TestServer } from '#libs/testing/servers/server-process';
import { type RabbitmqServer, startRabbitmq, startRedis } from '#libs/testing/servers/servers';
import type { ControllerQuirks } from '../../services/compute-agent/testing/controller-quirks';
import { RedfishSimulator } from '../../services/compute-agent/testing/redfish-simulator';

const clock = systemClock();
const POLL_MS = 200;

/** Options of a pool fleet. */
export interface PoolFleetOptions {
  readonly nodeCount: number;
  readonly agentCount: number;
  /** The time of a boot. */
  readonly bootMs: number;
  readonly settings: Readonly<Record<string, string>>;
  /** Resources of each machine, if its nodes report them. */
  readonly resources?: Readonly<Record<string, number>>;
  /** The nodes are the systems of one Redfish service; no file names them. */
  readonly isShared?: boolean;
  readonly quirks?: ControllerQuirks;
  /** Called before any process starts. */
  readonly prepare?: (simulator: RedfishSimulator) => void;
}

/** A Berth of real processes whose agents share a pool of nodes; this process simulates their controllers. */
export class PoolFleet {
  readonly #children = new Map<string, Child>();
  /** An operator's. */
  readonly client: Client;

  private constructor(
    readonly simulator: RedfishSimulator,
    private readonly rabbitmq: RabbitmqServer,
    private readonly redis: TestServer,
    readonly bus: Bus,
    readonly placement: PlacementStore,
    readonly instances: InstanceStore,
    private readonly folder: string,
    private readonly settings: Readonly<Record<string, string>>,
  ) {
    const calls = { timeoutMs: 20_000, retryForMs: 0, projectId: '' };
    this.client = new Client(bus, { clock, random: systemRandom, ...calls });
  }

  static async start(options: PoolFleetOptions): Promise<PoolFleet> {
    const { nodeCount, agentCount, bootMs, settings, resources, isShared = false, quirks = {}, prepare } = options;
    const width = String(nodeCount).length;
    const nodes = Array.from({ length: nodeCount }, (_, n) => `node-${String(n + 1).padStart(width, '0')}`);
    const [rabbitmq, redis, simulator] = await Promise.all([
      startRabbitmq(),
      startRedis({ appendOnly: true }),
      RedfishSimulator.start({ nodes, bootMs, isShared, quirks }),
    ]);
    prepare?.(simulator);
    const folder = mkdtempSync(join(tmpdir(), 'berth-pool-'));
    const file = nodes.map((name) => ({ name, class: 'GOLD', redfish: simulator.systemUrl(name), resources }));
    writeFileSync(join(folder, 'nodes.json'), JSON.stringify(file));
    const around = { clock, random: systemRandom, log: silentLog, metrics: createMetrics({}) };
    const store = readConfig(placementOptions, { BERTH_STORE_URL: redis.url });
    const fleet = new PoolFleet(
      simulator,
      rabbitmq,
      redis,
      await openBus({ ...readConfig(busOptions, {}), busUrl: rabbitmq.url }, around),
      await openPlacementStore(store, around),
      await openInstanceStore(store, around),
      folder,
      {
        BERTH_AGENT_NODES: isShared ? `redfish+${simulator.url}` : join(folder, 'nodes.json'),
        BERTH_AGENT_NODE_CLASS: 'GOLD',
        ...settings,
      },
    );
    await fleet.bus.declare(BUILD_REQUESTS);
    for (const name of ['scheduler', 'conductor']) fleet.launch(name, name);
    for (let n = 1; n <= agentCount; n++) fleet.launch(`agent-${n}`, 'compute-agent');
    return fleet;
  }

  launch(name: string, kind = 'compute-agent', further: Readonly<Record<string, string>> = {}): void {
    const env = {
      BERTH_BUS_URL: this.rabbitmq.url,
      BERTH_STORE_URL: this.redis.url,
      BERTH_HTTP_PORT: '0',
      BERTH_PROCESS_NAME: name,
      BERTH_LOG_FORMAT: 'json',
      BERTH_LOG_LEVEL: 'info',
      ...(kind === 'compute-agent' && this.#agentSettings(name)),
      ...this.settings,
      ...further,
    };
    this.#children.set(name, startChild('services/cli/main.ts', [kind], env));
  }

  #agentSettings(name: string) {
    return {
      BERTH_AGENT_HOST: name,
      BERTH_AGENT_DRIVER: 'baremetal',
      BERTH_AGENT_POOL: 'metal',
      BERTH_AGENT_NODE_START: 'available',
      BERTH_AGENT_NODE_POLL_MS: '500',
      BERTH_AGENT_REDFISH_PASSWORD: 'secret',
    };
  }

  /** For commands that ask this fleet. */
  get commandEnv(): Readonly<Record<string, string>> {
    return { BERTH_BUS_URL: this.rabbitmq.url };
  }

  async kill(name: string): Promise<void> {
    const child = this.#children.get(name);
    child?.process.kill('SIGKILL');
    await child?.exit;
  }

  /** Ends a process as an upgrade does, and starts it again with other settings. */
  async restart(name: string, further: Readonly<Record<string, string>>, kind = 'compute-agent'): Promise<void> {
    this.signal(name, 'SIGTERM');
    await this.#children.get(name)?.exit;
    this.launch(name, kind, further);
  }

  signal(name: string, signal: NodeJS.Signals): void {
    this.#children.get(name)?.process.kill(signal);
  }

  /** Log lines of all processes that match a pattern, each with its process. */
  said(pattern: RegExp): string[] {
    return [...this.#children].flatMap(([name, child]) =>
      (child.stdout() + child.stderr())
        .split('\n')
        .filter((line) => pattern.test(line))
        .map((line) => `${name} ${line}`),
    );
  }

  /** The nodes that somebody ordered after another had ordered them under a later epoch. */
  orderedByTwo(): string[] {
    const latest = new Map<string, number>();
    const found = new Set<string>();
    for (const { node, context } of this.simulator.orders) {
      const epoch = Number(context.slice(context.lastIndexOf(' ')));
      if (epoch < (latest.get(node) ?? 0)) found.add(node);
      latest.set(node, Math.max(epoch, latest.get(node) ?? 0));
    }
    return [...found];
  }

  /** Requests one instance of each uuid, each of which takes a node. */
  async request(count: number, resources: Resources = { CUSTOM_BAREMETAL_GOLD: 1 }): Promise<string[]> {
    const uuids = Array.from({ length: count }, () => randomUUID());
    const requestSpec = anEncodedSpec({ resources });
    for (const uuid of uuids) {
      const request = { requestId: uuid, requestSpec, count: 1, name: '', instanceUuids: [uuid] };
      await castTyped({ bus: this.bus, queue: BUILD_REQUESTS }, buildRequestCodec, request, { id: uuid });
    }
    return uuids;
  }

  async terminate(uuids: readonly string[]): Promise<void> {
    for (const instanceUuid of uuids) {
      await castTyped({ bus: this.bus, queue: BUILD_REQUESTS }, terminateInstanceCodec, {
        instanceUuid,
        projectId: '',
      });
    }
  }

  /** Resolves once all of these are in a state, and fails when they are not in time; says how they are then. */
  async areAll(uuids: readonly string[], state: Instance['state'], withinMs: number): Promise<void> {
    await this.eventually(async () => {
      const instances = await this.instances.get(uuids);
      const counts: Record<string, number> = {};
      for (const one of instances) counts[one.state] = (counts[one.state] ?? 0) + 1;
      return counts[state] === uuids.length ? undefined : `instances are ${JSON.stringify(counts)}`;
    }, withinMs);
  }

  nodes(): Promise<readonly NodeView[]> {
    return this.client.nodes();
  }

  /** Number of nodes that each agent manages, as schedulers see it. */
  async shares(): Promise<ReadonlyMap<string, number>> {
    const shares = new Map<string, number>();
    for (const { serviceHost = '' } of await this.nodes()) shares.set(serviceHost, (shares.get(serviceHost) ?? 0) + 1);
    return shares;
  }

  /** @param isNotYet  what is not as expected yet */
  async eventually(isNotYet: () => Promise<string | undefined>, withinMs: number): Promise<void> {
    const untilMs = clock.elapsed() + withinMs;
    for (;;) {
      const problem = await isNotYet().catch((thrown: Error) => thrown.message);
      if (problem === undefined) return;
      if (clock.elapsed() > untilMs) throw new Error(`after ${withinMs} ms: ${problem}`);
      await sleep(clock, POLL_MS);
    }
  }

  async stop(): Promise<void> {
    for (const { process } of this.#children.values()) {
      process.kill('SIGCONT');
      process.kill('SIGKILL');
    }
    await Promise.all([...this.#children.values()].map(({ exit }) => exit));
    await this.bus.close();
    await this.placement.close();
    await this.instances.close();
    await Promise.all([this.rabbitmq.stop(), this.redis.stop(), this.simulator.stop()]);
    rmSync(this.folder, { recursive: true, force: true });
  }
}
