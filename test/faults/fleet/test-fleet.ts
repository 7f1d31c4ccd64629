import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type GetMessage } from 'amqplib';
import { openBus } from '#libs/bus/open';
import { busOptions } from '#libs/bus/options';
import { type Bus, DEAD_LETTERS } from '#libs/bus/port';
import { castTyped } from '#libs/bus/typed-calls';
import type { Client } from '#libs/client/client';
import { connect as connectClient } from '#libs/client/connect';
import { inCell } from '#libs/contracts/cells';
import { buildRequestCodec, terminateInstanceCodec } from '#libs/contracts/conductor';
import { agentQueue, BUILD_REQUESTS, BUILD_RESULTS } from '#libs/contracts/queues';
import { DEFAULT_CELL, TOP } from '#libs/domain/cells/cell';
import { sleep } from '#libs/domain/clock';
import type { Consumer } from '#libs/domain/consumer';
import { BerthError } from '#libs/domain/errors';
import type { Host } from '#libs/domain/host';
import { type Instance } from '#libs/domain/instance';
import { capacityOf } from '#libs/domain/inventory';
import { isUuid } from '#libs/domain/names';
import type { Provider } from '#libs/domain/provider';
import { type Admission, NO_ADMISSION } from '#libs/domain/queueing/admission';
import { openInstanceStore } from '#libs/instances/open';
import type { InstanceStore } from '#libs/instances/store';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import type { PlacementStore, Usage } from '#libs/placement/port/placement-store';
import { readConfig } from '#libs/runtime/config';
import { type Log, silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { anEncodedSpec, aRequestSpec } from '#libs/testing/instances/request-spec';
import { type Child, startChild } from '#libs/testing/servers/child';
import { type DeployedCredentials, deployedCredentials } from '#libs/testing/servers/credentials';
import type { TestServer } from '#libs/testing/servers/server-process';
import {
  type RabbitmqOptions,
  type RabbitmqServer,
  type RedisServerOptions,
  startRabbitmq,
  startRedis,
} from '#libs/testing/servers/servers';
import { verifyRecord } from '#services/replay/main';
import { type OwnVirtualHost, ownVirtualHost } from '../../shared-servers';
import { traceStore } from '../../sim/model/trace/store-trace';
import { recordReal } from './figures';
import { Proxies, type Server } from './proxy';

/** Each poll reads the whole store. */
const POLL_MS = 250;
const clock = systemClock();

/** Processes of a fleet: two of each kind; an agent carries five hosts. */
export const SCHEDULERS = ['scheduler-1', 'scheduler-2'] as const;
export const CONDUCTORS = ['conductor-1', 'conductor-2'] as const;
export const AGENTS = ['agent-a', 'agent-b'] as const;
/** Processes of a top over it. */
export const TOP_SERVICES = ['top-scheduler', 'top-conductor'] as const;
/** The tenant that requests all instances. */
export const TENANT = 'project.project-1';

/** Differences to a usual fleet. */
export interface FleetOptions {
  /** Each process reaches broker and store through a proxy of its own. */
  readonly hasProxies?: boolean;
  readonly redis?: RedisServerOptions;
  /** A broker of its own, for tests that break or inspect it; otherwise a virtual host on the run's. */
  readonly rabbitmq?: RabbitmqOptions;
  /** Brokers in one cluster; processes connect to them in turn. Needs proxies. */
  readonly brokerCount?: number;
  /** In a cluster, the queues of calls, reports and orders live on one broker each: without `BERTH_BROKER_CLUSTER`. */
  readonly isReplicated?: boolean;
  /** The HTTP ports of processes, by name; any free one for the others. */
  readonly httpPorts?: ReadonlyMap<string, number>;
}

/**
 * A whole Berth of real processes on a private broker and a private Redis, made to be broken. Each process has the user and the rights that
 * it has as deployed; a tenant sends the requests.
 */
export class TestFleet {
  readonly #children = new Map<string, Child>();
  /** Hosts of instances that were ACTIVE at some time and were not terminated. */
  readonly #kept = new Map<string, string>();
  readonly #terminated = new Set<string>();
  readonly #settings: Readonly<Record<string, string>>;

  private constructor(
    /** All brokers of its cluster; none when it shares the run's broker. */
    readonly brokers: readonly RabbitmqServer[],
    private readonly shared: OwnVirtualHost | undefined,
    readonly redis: TestServer,
    readonly credentials: DeployedCredentials,
    readonly bus: Bus,
    readonly tenant: Bus,
    readonly placement: PlacementStore,
    readonly instances: InstanceStore,
    readonly stateDir: string,
    readonly proxies: Proxies | undefined,
    settings: Readonly<Record<string, string>>,
    private readonly httpPorts: ReadonlyMap<string, number>,
    private readonly tenantSaid: readonly string[],
  ) {
    this.#settings = settings;
  }

  /**
   * Two schedulers, two conductors and two agents of five hosts each; `settings` go to all of them. With a
   * `BERTH_STORE_URL` among them the fleet uses that store, not the private Redis.
   */
  static async start(settings: Readonly<Record<string, string>> = {}, options: FleetOptions = {}): Promise<TestFleet> {
    const { brokerCount = 1, isReplicated = brokerCount > 1 } = options;
    const ofTop = ['scheduler', 'conductor'].map((service) => inCell(TOP, service));
    const users = [...AGENTS.map((name) => `service-host.${name}`), TENANT, ...ofTop];
    const credentials = deployedCredentials(users, isReplicated);
    const isShared = options.rabbitmq === undefined && brokerCount === 1;
    const config = { load_definitions: credentials.definitionsFile };
    const [shared, brokers, redis] = await Promise.all([
      isShared ? ownVirtualHost(credentials) : undefined,
      isShared ? [] : startCluster(brokerCount, { ...options.rabbitmq, config }),
      startRedis({ appendOnly: true, ...options.redis }),
    ]);
    const brokerPort = (brokers[0] ?? shared)?.port ?? 0;
    const ports = { broker: brokerPort, store: redis.port };
    const everybody = [...SCHEDULERS, ...CONDUCTORS, ...AGENTS, TENANT];
    const proxies = options.hasProxies ? await Proxies.start(everybody, ports) : undefined;
    for (const [n, name] of everybody.entries()) {
      proxies?.of(name, 'broker').pointTo(brokers[n % brokers.length]?.port ?? brokerPort);
    }
    const around = { clock, random: systemRandom, log: silentLog, metrics: createMetrics({}) };
    const addresses = { BERTH_STORE_URL: redis.url };
    const store = readConfig(placementOptions, { ...addresses, ...settings });
    const busAs = (user: string, port: number, log = silentLog) =>
      openBus(
        { ...readConfig(busOptions, settings), busUrl: credentials.brokerUrl(user, port) },
        { ...around, log, metrics: createMetrics({}) },
      );
    const tenantSaid: string[] = [];
    const tenantLog: Log = {
      ...silentLog,
      warn: (fields) => tenantSaid.push(JSON.stringify(fields)),
      child: () => tenantLog,
    };
    const fleet = new TestFleet(
      brokers,
      shared,
      redis,
      credentials,
      await busAs('operator', brokerPort),
      await busAs(TENANT, proxies?.of(TENANT, 'broker').port ?? brokerPort, tenantLog),
      await openPlacementStore(store, around),
      await openInstanceStore(store, around),
      mkdtempSync(join(tmpdir(), 'berth-fleet-')),
      proxies,
      { ...QUICK, ...settings },
      options.httpPorts ?? new Map(),
      tenantSaid,
    );
    try {
      // Brokers that have just joined may not answer yet about a queue on all of them.
      await untilTaken(() => fleet.bus.declare(BUILD_REQUESTS));
      for (const name of [...SCHEDULERS, ...CONDUCTORS, ...AGENTS]) fleet.launch(name);
      await fleet.eventually('ten hosts have reported', async () => (await fleet.rows()).hosts.length === 10);
    } catch (thrown) {
      await fleet.stop().catch(() => {});
      throw thrown;
    }
    return fleet;
  }

  /** The first of its own brokers. */
  get rabbitmq(): RabbitmqServer {
    const [first] = this.brokers;
    if (first === undefined) throw new Error('this fleet shares its broker: start it with `rabbitmq: {}`');
    return first;
  }

  get brokerPort(): number {
    return (this.brokers[0] ?? this.shared)?.port ?? 0;
  }

  /**
   * Starts a process: `scheduler-N`, `conductor-N`, `agent-X` with five hosts, or one of the top; the same name finds its
   * state again. `settings` may make it another's twin.
   */
  launch(name: string, settings: Readonly<Record<string, string>> = {}): void {
    const isAgent = name.startsWith('agent');
    const cell = name.startsWith('top-') ? TOP : DEFAULT_CELL;
    const kind = isAgent ? 'compute-agent' : name.replace(/-\d+$/, '');
    const agent = { BERTH_AGENT_HOST: name, BERTH_AGENT_HOSTS: '5', BERTH_AGENT_STATE_DIR: this.stateDir };
    const ofAgent = `service-host.${settings['BERTH_AGENT_HOST'] ?? name}`;
    const user = isAgent ? ofAgent : inCell(cell, kind.replace('top-', ''));
    const port = (server: Server, direct: number) => this.proxies?.of(name, server).port ?? direct;
    const addresses = {
      BERTH_BUS_URL: this.credentials.brokerUrl(user, port('broker', this.brokerPort)),
      BERTH_STORE_URL: `redis://127.0.0.1:${port('store', this.redis.port)}`,
    };
    const httpPort = this.httpPorts.get(name) ?? 0;
    const cells = { BERTH_CELL: cell, BERTH_TOP_CELLS: DEFAULT_CELL };
    const record = kind === 'scheduler' ? { BERTH_SCHEDULER_RECORD_FOLDER: this.#recordFolder } : {};
    const own = { BERTH_HTTP_PORT: String(httpPort), ...cells, ...(isAgent ? agent : {}), ...record };
    const env = { BERTH_PROCESS_NAME: name, ...addresses, ...this.#settings, ...own, ...settings };
    this.#children.set(name, startChild('services/cli/main.ts', [kind], env));
  }

  /** Starts a top over this cell. Resolves to an operator's client of it, once it has built an instance; the caller closes it. */
  async startTop(): Promise<Client> {
    for (const name of TOP_SERVICES) this.launch(name);
    const client = await connectClient({ url: this.credentials.brokerUrl('operator', this.brokerPort), cell: TOP });
    await this.eventually('the top builds', async () => {
      const built = await client.buildAndWait({ spec: aRequestSpec() });
      return built.every(({ state }) => state === 'active');
    });
    return client;
  }

  /** Kills a process with SIGKILL; resolves when it is gone. */
  async kill(name: string): Promise<void> {
    const child = this.#children.get(name);
    child?.process.kill('SIGKILL');
    await child?.exit;
  }

  /** Sends a signal to a process. */
  signal(name: string, signal: NodeJS.Signals): void {
    this.#children.get(name)?.process.kill(signal);
  }

  /** Waits until a process, or the tenant, has logged an event; with `after`, a line after that many (`said`). */
  async hasLogged(name: string, event: string, after = 0): Promise<void> {
    const isIn = (line: string) => line.includes(`"event":"${event}"`);
    if (name === TENANT) {
      return this.eventually(`${TENANT} says ${event}`, async () => this.tenantSaid.slice(after).some(isIn));
    }
    await this.#children.get(name)?.says(`"event":"${event}"`, after);
  }

  /** Log lines of a process. */
  linesOf(name: string): readonly string[] {
    return this.#children.get(name)?.stdout().split('\n') ?? [];
  }

  /** Log lines of a process, or of the tenant, so far. */
  said(name: string): number {
    if (name === TENANT) return this.tenantSaid.length;
    return this.#children.get(name)?.stdout().length ?? 0;
  }

  /**
   * Has the tenant request one instance each, again where the broker did not say that it has it; resolves to their
   * instances' uuids once it has them all.
   */
  async request(count: number, copies = 1, admission?: Partial<Admission>): Promise<string[]> {
    const uuids = Array.from({ length: count }, () => randomUUID());
    const requests = uuids.flatMap((uuid) => Array<string>(copies).fill(uuid)).sort(() => systemRandom.next() - 0.5);
    await Promise.all(
      requests.map((uuid) =>
        untilTaken(() =>
          castTyped(
            { bus: this.tenant, queue: BUILD_REQUESTS },
            buildRequestCodec,
            {
              requestId: uuid,
              requestSpec: anEncodedSpec({ resources: { VCPU: 1, MEMORY_MB: 256 } }),
              count: 1,
              name: '',
              instanceUuids: [uuid],
              admission: admission && { ...NO_ADMISSION, ...admission },
            },
            { id: uuid },
          ),
        ),
      ),
    );
    return uuids;
  }

  /** Terminates instances as the tenant; resolves once the broker has all requests. */
  async terminate(uuids: readonly string[]): Promise<void> {
    for (const uuid of uuids) this.#terminated.add(uuid);
    const casts = uuids.map((instanceUuid) =>
      untilTaken(() =>
        castTyped({ bus: this.tenant, queue: BUILD_REQUESTS }, terminateInstanceCodec, { instanceUuid, projectId: '' }),
      ),
    );
    await Promise.all(casts);
  }

  /** Forgets instances: the test has lost them on purpose. */
  forget(uuids: readonly string[]): void {
    for (const uuid of uuids) {
      this.#kept.delete(uuid);
      this.#terminated.delete(uuid);
    }
  }

  /** Puts what waits in a queue back in a random order, each message so many times; resolves to how many there were. */
  async shuffle(queue: string, copies: number): Promise<number> {
    const connection = await connect(this.credentials.brokerUrl('operator', this.brokerPort));
    const channel = await connection.createConfirmChannel();
    const taken: GetMessage[] = [];
    for (;;) {
      const message = await channel.get(queue);
      if (message === false) break;
      taken.push(message);
    }
    const all = taken.flatMap((message) => Array<GetMessage>(copies).fill(message));
    for (const { content, properties } of all.sort(() => systemRandom.next() - 0.5)) {
      // As a service that puts them back: they stay their senders'.
      const headers = { ...properties.headers, 'berth-user': properties.userId };
      channel.sendToQueue(queue, content, { ...properties, userId: 'operator', headers });
    }
    await channel.waitForConfirms();
    channel.ackAll();
    await connection.close();
    return taken.length;
  }

  /** Resolves once so many of these instances are at rest: the moment to break something. */
  async atRest(uuids: readonly string[], count = uuids.length): Promise<void> {
    await this.eventually(`${count} of ${uuids.length} instances are at rest`, async () => {
      const instances = await this.instances.get(uuids).catch(() => []);
      return instances.filter(isAtRest).length >= count;
    });
    this.#noteActive(await this.instances.get(uuids));
  }

  /**
   * Waits until the fleet has settled: until nothing is wrong any more, or for two minutes. Resolves to what is wrong then.
   *
   * Right is, whatever happened: every instance at rest, ACTIVE on the one host that runs it, or deleted when it was
   * terminated; what was ACTIVE runs where it ran; claims are what the hosts run; nothing is above capacity; every event is
   * told; no message is left.
   */
  async problems(uuids: readonly string[]): Promise<string[]> {
    let found: string[] = [];
    await this.eventually('nothing is wrong', async () => {
      found = await this.#problemsNow(uuids);
      return found.length === 0;
    }).catch((thrown: Error) => {
      if (found.length === 0) throw thrown;
      found.push(thrown.message);
    });
    return found;
  }

  async #problemsNow(uuids: readonly string[]): Promise<string[]> {
    const runs = this.runs();
    const running = runs.map((one) => one.split(' ')[0] ?? '');
    const all = [...new Set([...uuids, ...running, ...this.#kept.keys(), ...this.#terminated])];
    const [instances, claims, outbox] = await Promise.all([
      this.instances.get(all),
      this.claims(),
      this.instances.scanOutbox(0, async () => {}),
    ]);
    const depths = [BUILD_REQUESTS, BUILD_RESULTS, ...AGENTS.map(agentQueue), { name: DEAD_LETTERS }].map(
      async ({ name }) => [name, await this.bus.depth(name)] as const,
    );
    const placed = (state: string) =>
      instances.filter((one) => one.state === state).map(({ uuid, host }) => `${uuid} ${host}`);
    const active = placed('active');
    this.#noteActive(instances);
    const kept = [...this.#kept]
      .filter(([uuid]) => !this.#terminated.has(uuid))
      .map(([uuid, host]) => `${uuid} ${host}`);
    const known = new Set(instances.map(({ uuid }) => uuid));
    return [
      ...uuids.filter((uuid) => !known.has(uuid)).map((uuid) => `${uuid} was lost`),
      ...instances.filter((one) => !isAtRest(one)).map(({ uuid, state }) => `${uuid} is ${state}`),
      ...instances
        .filter(({ uuid, state }) => this.#terminated.has(uuid) && state !== 'deleted')
        .map(({ uuid, state }) => `${uuid} was terminated and is ${state}`),
      ...minus(active, runs).map((one) => `${one} is active and does not run`),
      ...minus(runs, active).map((one) => `${one} runs and is not active`),
      ...minus(kept, runs).map((one) => `${one} was active and was destroyed`),
      ...minus(claims, runs).map((one) => `${one} is claimed and does not run`),
      ...minus(runs, claims).map((one) => `${one} runs and is not claimed`),
      ...(await this.aboveCapacity()).map((one) => `${one} is above capacity`),
      ...(outbox.instanceCount > 0 ? [`events of ${outbox.instanceCount} instances are not told`] : []),
      ...(await Promise.all(depths)).filter(([, depth]) => depth > 0).map(([name, depth]) => `${depth} in ${name}`),
    ];
  }

  #noteActive(instances: readonly Instance[]): void {
    for (const { uuid, state, host } of instances)
      if (state === 'active' && host !== undefined) this.#kept.set(uuid, host);
  }

  /** Claims, as `consumer host`. */
  async claims(): Promise<string[]> {
    const { hosts, consumers } = await this.rows();
    const names = new Map(hosts.map(({ providerUuid, name }) => [providerUuid, name]));
    return consumers
      .flatMap(({ uuid, allocations }) => Object.keys(allocations).map((p) => `${uuid} ${names.get(p)}`))
      .sort();
  }

  /** Running instances, as `instance host`, from the agents' own journals. */
  runs(): string[] {
    return readdirSync(this.stateDir)
      .filter((name) => existsSync(join(this.stateDir, name, 'journal')))
      .flatMap((host) => {
        const folder = join(this.stateDir, host, 'journal');
        const files = readdirSync(folder).filter((name) => isUuid(name.replace(/\.json$/, '')));
        const carried = files.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as { uuid: string });
        return carried.map(({ uuid }) => `${uuid} ${host}`);
      })
      .sort();
  }

  /** True if a host's agent has persisted that an operator disabled it. */
  remembersDisabled(host: string): boolean {
    return existsSync(join(this.stateDir, host, 'journal', 'disabled.json'));
  }

  /** The store's rows as they are now. */
  async rows() {
    const hosts: Host[] = [];
    const providers: Provider[] = [];
    const usages: Usage[] = [];
    const consumers: Consumer[] = [];
    await this.placement.snapshot((rows) => {
      hosts.push(...(rows.hosts ?? []));
      providers.push(...(rows.providers ?? []));
      usages.push(...(rows.usages ?? []));
      consumers.push(...(rows.consumers ?? []));
    });
    return { hosts, providers, usages, consumers };
  }

  /** Waits for a state of the fleet; an answer of the condition other than true is reported on timeout. */
  async eventually(what: string, condition: () => Promise<unknown>, timeoutMs = 120_000): Promise<void> {
    const untilMs = clock.now() + timeoutMs;
    let last: unknown;
    while (clock.now() < untilMs) {
      try {
        last = await condition();
        if (last === true) return;
      } catch (thrown) {
        last = thrown;
      }
      await sleep(clock, POLL_MS);
    }
    throw new Error(
      `never became true: ${what}; last: ${last instanceof Error ? last.stack : JSON.stringify(last)}\n${this.#output()}`,
    );
  }

  /**
   * Ends all processes, makes the decisions of its schedulers again, and checks what its store went through against the model of the
   * protocol. @throws when a decision comes out otherwise, or a step is not one of the model
   */
  async stop(): Promise<void> {
    for (const child of this.#children.values()) child.process.kill('SIGKILL');
    await Promise.all([...this.#children.values()].map(({ exit }) => exit));
    await Promise.allSettled([this.bus.close(), this.tenant.close(), this.placement.close(), this.instances.close()]);
    this.proxies?.close();
    const { stepCount: tracedSteps, broken } = traceStore(this.redis.folder);
    await Promise.all([...this.brokers, this.redis].map((server) => server.stop()));
    await this.shared?.stop();
    const { count: decisions, different } = await this.#decideAgain();
    rmSync(this.stateDir, { recursive: true, force: true });
    this.credentials.remove();
    const otherwise =
      different.length > 0 ? `made again, decisions come out otherwise:\n${different.join('\n')}` : undefined;
    const broke = broken ?? otherwise;
    recordReal({ kind: 'fleet', tracedSteps, decisions, broke });
    if (broke !== undefined) throw new Error(broke);
  }

  get #recordFolder(): string {
    return join(this.stateDir, 'record');
  }

  /** Replays all recorded decisions: how many, and those that differ. */
  async #decideAgain(): Promise<{ readonly count: number; readonly different: readonly string[] }> {
    const found: string[] = [];
    let count = 0;
    if (!existsSync(this.#recordFolder)) return { count, different: found };
    for await (const { segment, count: its, different } of verifyRecord(this.#recordFolder)) {
      count += its;
      for (const { entry, outcome } of different) {
        found.push(`${segment.path}: ${JSON.stringify(entry)}\n  again ${JSON.stringify(outcome)}`);
      }
    }
    writeSync(process.stdout.fd, `measured: ${count} decisions made again, ${found.length} came out otherwise\n`);
    return { count, different: found };
  }

  private async aboveCapacity(): Promise<string[]> {
    const { providers, usages } = await this.rows();
    const used = new Map(usages.map((usage) => [usage.providerUuid, usage.used]));
    return providers.flatMap(({ uuid, name, inventories }) =>
      Object.entries(inventories)
        .filter(([resourceClass, inventory]) => (used.get(uuid)?.[resourceClass] ?? 0) > capacityOf(inventory))
        .map(([resourceClass]) => `${name} ${resourceClass}`),
    );
  }

  #output(): string {
    const tail = (child: Child) => `${child.stdout()}${child.stderr()}`.split('\n').slice(-8).join('\n');
    return [...this.#children].map(([name, child]) => `--- ${name}\n${tail(child)}`).join('\n');
  }
}

async function startCluster(count: number, options: RabbitmqOptions): Promise<RabbitmqServer[]> {
  const first = await startRabbitmq(options);
  const brokers = [first];
  while (brokers.length < count) brokers.push(await startRabbitmq({ clusterOf: first }));
  return brokers;
}

/** Repeats a question to the broker until it confirms it. */
async function untilTaken(cast: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await cast();
    } catch (thrown) {
      if (BerthError.from(thrown).code !== 'unavailable') throw thrown;
      await sleep(clock, POLL_MS);
    }
  }
}

/** Short times, so that lost messages and instances are found while a test waits. */
const QUICK: Readonly<Record<string, string>> = {
  BERTH_CONDUCTOR_BUILD_TIMEOUT_MS: '6000',
  BERTH_CONDUCTOR_SCHEDULING_TIMEOUT_MS: '5000',
  BERTH_CONDUCTOR_SELECT_TIMEOUT_MS: '2000',
  BERTH_CONDUCTOR_AUDIT_INTERVAL_MS: '3000',
  BERTH_CONDUCTOR_AUDIT_GRACE_MS: '3000',
  BERTH_CONDUCTOR_DUE_INTERVAL_MS: '500',
  BERTH_CONDUCTOR_EVENT_GRACE_MS: '1000',
  BERTH_SCHEDULER_HOST_TIMEOUT_MS: '5000',
  BERTH_AGENT_REPORT_INTERVAL_MS: '2000',
  BERTH_AGENT_INVENTORY: 'VCPU=64,MEMORY_MB=65536,DISK_GB=1000',
  BERTH_AGENT_FAKE_LATENCY_MS: '100',
  BERTH_AGENT_FAKE_FAILURE_RATE: '0.1',
  BERTH_LOG_LEVEL: 'warn',
  BERTH_LOG_FORMAT: 'json',
};

function isAtRest({ state }: Instance): boolean {
  return state === 'active' || state === 'unknown' || state === 'error' || state === 'deleted';
}

function minus(a: readonly string[], b: readonly string[]): string[] {
  const other = new Set(b);
  return a.filter((one) => !other.has(one));
}
