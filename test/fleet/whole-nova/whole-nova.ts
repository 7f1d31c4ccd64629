import { type Child, startChild } from '#libs/testing/servers/child';
import { type KeystoneServer, startKeystone } from '#libs/testing/servers/keystone';
import { type MariadbServer, startMariadb } from '#libs/testing/servers/mariadb';
import { freePort, type TestServer } from '#libs/testing/servers/server-process';
import { type RabbitmqServer, startRabbitmq, startRedis } from '#libs/testing/servers/servers';
import { CloudClient } from './cloud-client';
import { startImagesAndNetworks } from './images-and-networks';
import type { NovaAddresses, Settings } from './nova-conf';
import { findNova, NovaProcesses } from './nova-processes';

/** Hosts that build, and one on which the first build of each server fails. */
export const HOSTS = ['h1', 'h2', 'h3'] as const;
export const BRITTLE = 'brittle';
const START_TIMEOUT_MS = 300_000;
/** Computes with fake drivers, and their settings. */
const FAKE_COMPUTES: Computes = {
  ...Object.fromEntries(HOSTS.map((host) => [host, { compute_driver: 'fake.MediumFakeDriver' }])),
  [BRITTLE]: { compute_driver: 'fake.FakeRescheduleDriver' },
};

/** Settings of computes, by host. */
type Computes = Readonly<Record<string, Readonly<Record<string, string>>>>;

export interface WholeNovaOptions {
  readonly computes?: Computes;
  /** Number of their nodes; default: one each. */
  readonly nodeCount?: number;
  /** Settings of all of Nova's services. */
  readonly settings?: Settings;
}

interface Servers {
  readonly rabbitmq: RabbitmqServer;
  readonly redis: TestServer;
  readonly keystone: KeystoneServer;
  readonly mariadb: MariadbServer;
  readonly stub: { readonly url: string; close(): void };
}

/**
 * A stock Nova of Debian's packages (26) with Keystone, on Berth's placement API: its API, conductor and four computes with drivers that
 * build nothing. Schedulers are started by the test.
 */
export class WholeNova {
  readonly #computes = new Map<string, TestServer>();
  readonly #children: Child[] = [];
  #cellUuid = '';

  private constructor(
    private readonly servers: Servers,
    private readonly addresses: NovaAddresses,
    private readonly nova: NovaProcesses,
    readonly client: CloudClient,
  ) {}

  static async start({
    computes = FAKE_COMPUTES,
    nodeCount,
    settings = {},
  }: WholeNovaOptions = {}): Promise<WholeNova> {
    const python = findNova();
    // One after the other: together they take longer than each may on a busy machine.
    const rabbitmq = await startRabbitmq();
    const redis = await startRedis({ appendOnly: true });
    const keystone = await startKeystone({ forks: true });
    const mariadb = await startMariadb();
    const stub = await startImagesAndNetworks();
    const addresses = {
      transportUrl: `${rabbitmq.url.replace('amqp:', 'rabbit:')}/`,
      database: `mysql+pymysql://root@127.0.0.1:${mariadb.port}`,
      keystone: keystone.url,
      adminPassword: keystone.adminPassword,
      placement: `http://127.0.0.1:${await freePort()}`,
      stub: stub.url,
      apiPort: await freePort(),
    };
    const client = new CloudClient({
      keystone: `${keystone.url}/v3`,
      password: keystone.adminPassword,
      nova: apiUrl(addresses),
      placement: addresses.placement,
    });
    const servers = { rabbitmq, redis, keystone, mariadb, stub };
    const cloud = new WholeNova(servers, addresses, new NovaProcesses(python, addresses, settings), client);
    try {
      await cloud.#begin(computes, nodeCount ?? Object.keys(computes).length);
      return cloud;
    } catch (thrown) {
      await cloud.stop();
      throw thrown;
    }
  }

  async #begin(computes: Computes, nodeCount: number): Promise<void> {
    const { placement, keystone, adminPassword } = this.addresses;
    const settings = {
      BERTH_PLACEMENT_PORT: new URL(placement).port,
      BERTH_PLACEMENT_AUTH: 'keystone',
      BERTH_PLACEMENT_KEYSTONE_URL: keystone,
      BERTH_PLACEMENT_KEYSTONE_USERNAME: 'admin',
      BERTH_PLACEMENT_KEYSTONE_PASSWORD: adminPassword,
      BERTH_PLACEMENT_KEYSTONE_PROJECT: 'admin',
      BERTH_PLACEMENT_KEYSTONE_TIMEOUT_MS: '60000',
    };
    await this.#launchBerth('placement-api', settings, '"running"');
    this.#cellUuid = await this.nova.createDatabases(this.servers.mariadb);
    const probe = { send: 'GET / HTTP/1.0\r\n\r\n', expect: 'HTTP/1.' };
    await this.nova.launch('api', 'ctl', {}, probe);
    await this.nova.launch('conductor', 'ctl');
    for (const [host, own] of Object.entries(computes)) {
      this.#computes.set(host, await this.nova.launch('compute', host, own));
    }
    await this.#eventually(async () => {
      const up = (await this.client.services()).filter(({ state }) => state === 'up').length;
      const nodes = (await this.client.providers()).length;
      const isComplete = up === this.#computes.size && nodes === nodeCount;
      return isComplete ? undefined : `${up} computes are up, ${nodes} in placement`;
    });
    await this.nova.mapHosts(this.servers.mariadb, this.#cellUuid, [...this.#computes.keys()]);
    if (BRITTLE in computes) await this.client.setEnabled(BRITTLE, false);
  }

  /** Starts Berth's scheduler, and resolves once it takes calls. */
  async launchBerthsScheduler(settings: Readonly<Record<string, string>> = {}): Promise<Child> {
    const { transportUrl, keystone, adminPassword } = this.addresses;
    const nova = {
      BERTH_NOVA_TRANSPORT_URL: transportUrl,
      BERTH_NOVA_API_URL: apiUrl(this.addresses),
      BERTH_NOVA_KEYSTONE_URL: keystone,
      BERTH_NOVA_KEYSTONE_USERNAME: 'admin',
      BERTH_NOVA_KEYSTONE_PASSWORD: adminPassword,
      BERTH_NOVA_KEYSTONE_PROJECT: 'admin',
      BERTH_NOVA_KEYSTONE_TIMEOUT_MS: '60000',
      BERTH_NOVA_CELLS: this.#cellUuid,
      BERTH_NOVA_SERVICES_INTERVAL_MS: '1000',
      BERTH_NOVA_NODES_INTERVAL_MS: '1000',
      BERTH_NOVA_QUERY_PLACEMENT_FOR_IMAGE_TYPE_SUPPORT: 'true',
    };
    return this.#launchBerth('nova-scheduler', { ...nova, ...settings }, 'oslo_serving');
  }

  /** Starts a scheduler of Berth's own requests, which explains Nova's, too; resolves to the environment of commands that ask it. */
  async launchExplainer(): Promise<Readonly<Record<string, string>>> {
    const env = { BERTH_BUS_URL: this.servers.rabbitmq.url };
    await this.#launchBerth('scheduler', env, '"running"');
    return env;
  }

  /** Settings with which Berth's scheduler reads Nova's databases, cells among them. */
  get databaseSettings(): Readonly<Record<string, string>> {
    return { BERTH_NOVA_CELLS: '', BERTH_NOVA_DATABASE_URL: `${this.servers.mariadb.url}/nova_api` };
  }

  /** Starts Nova's scheduler. */
  async launchStockScheduler(): Promise<void> {
    await this.nova.launch('scheduler', 'ctl');
    await this.#eventually(async () => {
      const isUp = (await this.client.services('nova-scheduler')).some(({ state }) => state === 'up');
      return isUp ? undefined : 'nova-scheduler is not up';
    });
  }

  async #launchBerth(service: string, settings: Readonly<Record<string, string>>, word: string): Promise<Child> {
    const common = { BERTH_STORE_URL: this.servers.redis.url, BERTH_HTTP_PORT: '0', BERTH_LOG_FORMAT: 'json' };
    const child = startChild('services/cli/main.ts', [service], { ...common, ...settings });
    this.#children.push(child);
    await child.says(word);
    return child;
  }

  async #eventually(isNotYet: () => Promise<string | undefined>): Promise<void> {
    await this.client.eventually(isNotYet, START_TIMEOUT_MS).catch((thrown: Error) => {
      throw new Error(`${thrown.message}\n${this.lastWords()}`, { cause: thrown });
    });
  }

  /** The last lines of Nova's processes, for the message of a failure. */
  lastWords(): string {
    return this.nova.lastWords();
  }

  /** Ends the compute of a host, which Nova is told at once. */
  async breakHost(host: string): Promise<void> {
    await this.#computes.get(host)?.kill('SIGKILL');
    await this.client.setService(host, { forced_down: true });
  }

  /** Starts the compute again. Nova takes it as up once it has ended its evacuations. */
  async repairHost(host: string): Promise<void> {
    await this.#computes.get(host)?.restart();
    await this.client.eventually(async () => {
      await this.client.setService(host, { forced_down: false });
      return undefined;
    });
  }

  async stop(): Promise<void> {
    for (const { process } of this.#children) process.kill('SIGKILL');
    await Promise.all(this.#children.map(({ exit }) => exit));
    await this.nova.stop();
    const { stub, ...servers } = this.servers;
    stub.close();
    await Promise.all(Object.values(servers).map((server) => server.stop()));
  }
}

function apiUrl({ apiPort }: NovaAddresses): string {
  return `http://127.0.0.1:${apiPort}/v2.1`;
}
