import { openBus } from '#libs/bus/open';
import type { Bus } from '#libs/bus/port';
import { Client } from '#libs/client/client';
import { inCell } from '#libs/contracts/cells';
import { type InstanceEvent, instanceEventCodec } from '#libs/contracts/instance';
import { BUILD_REQUESTS } from '#libs/contracts/queues';
import { openInstanceStore } from '#libs/instances/open';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { type Child, startChild } from '#libs/testing/servers/child';
import { type DeployedCredentials, deployedCredentials } from '#libs/testing/servers/credentials';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';
import { type OwnVirtualHost, ownVirtualHost } from '../../shared-servers';
import { traceStore } from '../../sim/model/trace/store-trace';

export const clock = systemClock();

/** A Redis, or a Cluster of several, which has no one folder. */
export type StoreServer = Pick<TestServer, 'url' | 'stop'> & Partial<Pick<TestServer, 'folder'>>;

/** A test's access to one cell, or the top. */
export interface OpenedCell {
  readonly cell: string;
  readonly bus: Bus;
  readonly client: Client;
  readonly placement: Awaited<ReturnType<typeof openPlacementStore>>;
  readonly instances: Awaited<ReturnType<typeof openInstanceStore>>;
  /** All its events so far. */
  readonly heard: InstanceEvent[];
}

/**
 * Several cells of real processes on one broker and one Redis, each process with its deployed user and rights on the
 * broker: `cell.b.scheduler`. Hosts of all cells have the same names.
 */
export class CellsWorld {
  readonly #children = new Map<string, Child>();
  readonly #opened: OpenedCell[] = [];

  private constructor(
    readonly broker: OwnVirtualHost,
    readonly redis: StoreServer,
    readonly credentials: DeployedCredentials,
    /** By cell, for cells with a store of their own. */
    private readonly ownStores: Readonly<Record<string, StoreServer>>,
  ) {}

  /**
   * @param hosts  names for the agents of each cell
   * @param ownStores  by cell; the others use the one of `startStore`
   */
  static async start(
    cells: readonly string[],
    hosts: readonly string[],
    startStore: () => Promise<StoreServer> = () => startRedis({ appendOnly: true }),
    ownStores: Readonly<Record<string, StoreServer>> = {},
  ): Promise<CellsWorld> {
    const users = cells.flatMap((cell) => {
      const services = cell === 'cell1' ? [] : ['scheduler', 'conductor'];
      return [...services, ...hosts.map((host) => `agent.${host}`)].map((user) => inCell(cell, user));
    });
    const credentials = deployedCredentials(users);
    const [broker, redis] = await Promise.all([ownVirtualHost(credentials), startStore()]);
    return new CellsWorld(broker, redis, credentials, ownStores);
  }

  /** An operator's access to a cell: its queues and its store. */
  async open(cell: string): Promise<OpenedCell> {
    const around = { clock, random: systemRandom, log: silentLog, metrics: createMetrics({}) };
    const store = { ...readConfig(placementOptions, { BERTH_STORE_URL: this.#storeUrl(cell) }), cell };
    const bus = await openBus({ busUrl: this.#busUrl('operator'), cell }, around);
    await bus.declare(BUILD_REQUESTS);
    const client = new Client(bus, { clock, random: systemRandom, timeoutMs: 20_000, retryForMs: 20_000 });
    const heard: InstanceEvent[] = [];
    await bus.subscribe('instance.#', (_topic, { body }) => heard.push(instanceEventCodec.decode(body)));
    const [placement, instances] = await Promise.all([
      openPlacementStore(store, around),
      openInstanceStore(store, around),
    ]);
    const opened = { cell, bus, client, placement, instances, heard };
    this.#opened.push(opened);
    return opened;
  }

  /** Starts a process of a cell and waits until it runs. Its name is its service's, or `agent.HOST`. */
  async launch(cell: string, name: string, settings: Readonly<Record<string, string>> = {}): Promise<Child> {
    const [kind = '', host] = name.split('.');
    const service = kind === 'agent' ? 'compute-agent' : kind.replace(/-\d+$/, '');
    const user = kind === 'agent' ? name : service.replace(/^top-/, '');
    const child = startChild('services/cli/main.ts', [service], {
      ...QUICK,
      BERTH_CELL: cell,
      BERTH_BUS_URL: this.#busUrl(inCell(cell, user)),
      ...(kind === 'agent' ? { BERTH_AGENT_HOST: host ?? '' } : { BERTH_STORE_URL: this.#storeUrl(cell) }),
      BERTH_PROCESS_NAME: `${cell}-${name}`,
      ...settings,
    });
    this.#children.set(`${cell}/${name}`, child);
    await child.says('"msg":"running"');
    return child;
  }

  /** Kills a process with SIGKILL; resolves when it has ended. */
  async kill(cell: string, name: string): Promise<void> {
    const child = this.#children.get(`${cell}/${name}`);
    child?.process.kill('SIGKILL');
    await child?.exit;
  }

  /** The logs of all processes, for a failed test. */
  said(): string {
    return [...this.#children].map(([name, child]) => `== ${name}\n${child.stdout()}${child.stderr()}`).join('\n');
  }

  /** Ends all processes. @throws when a store took a step that is none of the model's */
  async stop(): Promise<void> {
    for (const child of this.#children.values()) child.process.kill('SIGKILL');
    await Promise.all([...this.#children.values()].map(({ exit }) => exit));
    for (const { client, placement, instances } of this.#opened) {
      await Promise.allSettled([client.close(), placement.close(), instances.close()]);
    }
    await Promise.allSettled(this.#opened.map(({ bus }) => bus.close()));
    const stores = [this.redis, ...Object.values(this.ownStores)];
    const broken = stores.map(({ folder }) => folder && traceStore(folder).broken).find(Boolean);
    await Promise.all([this.broker, ...stores].map((server) => server.stop()));
    this.credentials.remove();
    if (broken) throw new Error(broken);
  }

  #storeUrl(cell: string): string {
    return (this.ownStores[cell] ?? this.redis).url;
  }

  #busUrl(user: string): string {
    return this.credentials.brokerUrl(user, this.broker.port);
  }
}

const QUICK: Readonly<Record<string, string>> = {
  BERTH_HTTP_PORT: '0',
  BERTH_CONDUCTOR_BUILD_TIMEOUT_MS: '6000',
  BERTH_CONDUCTOR_AUDIT_INTERVAL_MS: '2000',
  BERTH_CONDUCTOR_AUDIT_GRACE_MS: '3000',
  BERTH_CONDUCTOR_DUE_INTERVAL_MS: '500',
  BERTH_AGENT_REPORT_INTERVAL_MS: '1000',
  BERTH_AGENT_INVENTORY: 'VCPU=8,MEMORY_MB=16384',
  BERTH_LOG_FORMAT: 'json',
};
