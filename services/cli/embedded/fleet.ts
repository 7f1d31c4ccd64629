import { setImmediate as endOfTurn } from 'node:timers/promises';
import { authOptions } from '#libs/auth/options';
import { MemoryBroker } from '#libs/bus/memory/broker';
import { openBus } from '#libs/bus/open';
import type { Bus } from '#libs/bus/port';
import { Client } from '#libs/client/client';
import type { NodeView } from '#libs/contracts/nodes';
import { BUILD_REQUESTS } from '#libs/contracts/queues';
import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Resources } from '#libs/domain/inventory';
import { memoryFlavorStore } from '#libs/instances/memory/flavor-store';
import { memoryInstanceStore } from '#libs/instances/memory/instance-store';
import { memoryLeaseStore } from '#libs/instances/memory/lease-store';
import { MAX_OUTBOX } from '#libs/instances/store';
import { announce } from '#libs/placement/announce';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { Mirror } from '#libs/placement/mirror/mirror';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { open as openSealed, sealer } from '#libs/placement/sealed/allocation-request';
import { claimKeyOption } from '#libs/placement/sealed/claim-key';
import { badConfig, readConfig } from '#libs/runtime/config';
import { counted } from '#libs/runtime/counted';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { addressOptions } from '#libs/runtime/options';
import type { Running, RuntimeDeps } from '#libs/runtime/service';
import type { Environment } from '#libs/runtime/system';
import type { FakeDriver } from '../../compute-agent/drivers/fake';
import { driverFromConfig, fakeDrivers } from '../../compute-agent/drivers/open-driver';
import { type AgentConfig, agentOptions } from '../../compute-agent/options';
import { startComputeAgent } from '../../compute-agent/start';
import { conductorOptions } from '../../conductor/options';
import { startConductor } from '../../conductor/start';
import { consoleOptions } from '../../console/options';
import { berthProcesses } from '../../console/rehearsals/berth-process';
import { startConsole } from '../../console/start';
import { CALLS } from '../../placement-api/builds/lazy-client';
import { placementApiOptions } from '../../placement-api/options';
import { startPlacementApi } from '../../placement-api/start';
import { encodeSnapshot, type FleetSnapshot, takeSnapshot } from '../../rehearsal/fork/fleet-snapshot';
import { schedulerOptions } from '../../scheduler/options';
import { startScheduler } from '../../scheduler/start';
import type { Context } from '../context';
import { unknownSettings } from '../settings';
import { type Audit, auditAtRest, auditFleet, type HostTruth } from './audit';
import { type Machine, startMachine } from './machines';
import { createRack, type Rack } from './rack';

export interface FleetSettings {
  readonly schedulers: number;
  readonly conductors: number;
  readonly hosts: number;
  /** The resources of each host. */
  readonly shape: Resources;
  /** Share of build attempts that fail. */
  readonly failureRate: number;
  /** Median duration of a build. */
  readonly latencyMs: number;
  /** True for an agent per host, which can be killed; else one agent carries all. */
  readonly hasOwnAgents?: boolean;
  /** The hosts are bare metal nodes that these agents share. */
  readonly pool?: PoolSettings;
  /** The broker of another cell or of a top in this process; default: a new one. */
  readonly broker?: MemoryBroker;
  /** Called at each step of the start, often. */
  readonly onStep?: (step: string, progress?: string) => void;
}

/** A pool of simulated nodes. */
export interface PoolSettings {
  readonly agents: readonly string[];
  /** Boot time of a node. */
  readonly bootMs: number;
}

/** All of Berth in this process. */
export interface EmbeddedFleet {
  readonly client: Client;
  /** The placement store of schedulers, conductors and the placement API. */
  readonly placement: PlacementStore;
  /** By host, for the instances that really run. */
  readonly drivers: ReadonlyMap<string, FakeDriver>;
  /** By host, with an agent each; by agent, in a pool. */
  readonly machines: ReadonlyMap<string, Machine>;
  /** The nodes of a pool. */
  readonly rack: Rack | undefined;
  /**
   * Serves the console for this fleet with the environment's settings; resolves to its address. It closes with the
   * fleet.
   *
   * @param program  `berth` for Node, by which the console starts rehearsals; by default what runs now
   */
  openConsole(program?: readonly string[]): Promise<string>;
  /** Serves the placement API and the API to build likewise; resolves to their address. */
  openApi(): Promise<string>;
  /** The broker of its queues. */
  readonly broker: MemoryBroker;
  /** All that its stores keep, for a rehearsal. */
  snapshot(): Promise<FleetSnapshot>;
  /** Stops all schedulers, for good. */
  stopSchedulers(): Promise<void>;
  /** Compares the store with the running instances, once no request is in progress. */
  audit(): Promise<Audit>;
  close(): Promise<void>;
}

/** The part of a command's context that a fleet needs. */
export type FleetContext = Pick<Context, 'env' | 'clock' | 'random' | 'interrupted'>;

const CALL_TIMEOUT_MS = 30_000;
/** Time limit of the start without progress: a large fleet takes long, a broken one stands still. */
const STANDSTILL_MS = 60_000;
const READY_POLL_MS = 20;
/** Hosts opened in one turn of the event loop, which must hear Ctrl-C. */
const HOSTS_PER_TURN = 32;
/** Sigma of the log-normal distribution: half of the builds take between 0.7 and 1.4 medians. */
const LATENCY_SPREAD = 0.5;

/**
 * Starts the environment's cell: schedulers, conductors and one agent with fake hosts on one bus and one store in
 * memory. Each service has its own bus connection and mirror, as if it were a process, and the environment's settings.
 * Resolves when every host takes builds.
 */
export async function startEmbedded(context: FleetContext, settings: FleetSettings): Promise<EmbeddedFleet> {
  const { clock, random, env } = context;
  const { onStep = () => {} } = settings;
  const unknown = unknownSettings(env);
  if (unknown.length > 0) throw badConfig(unknown);
  const { broker = new MemoryBroker(clock, silentLog) } = settings;
  const parts = new Parts(context, broker);
  const { placement } = parts;
  try {
    onStep('starting schedulers and conductors');
    const schedulers: Running[] = [];
    for (let i = 0; i < settings.schedulers; i++) schedulers.push(await startOneScheduler(parts, i));
    const services = [...schedulers];
    for (let i = 0; i < settings.conductors; i++) services.push(await startOneConductor(parts, i));
    const { agents, ...hardware } = await startAgents(parts, settings, onStep);
    services.push(...agents);
    const bus = await parts.open(parts.connect());
    await bus.declare(BUILD_REQUESTS);
    const client = await parts.open(
      Promise.resolve(new Client(bus, { clock, random, timeoutMs: CALL_TIMEOUT_MS, retryForMs: 0 })),
    );
    await allReady(context, services, client, { hosts: settings.hosts, onStep });
    const { drivers, rack } = hardware;
    return {
      client,
      placement,
      ...hardware,
      broker,
      snapshot: () => parts.snapshot(),
      stopSchedulers: () => parts.closeNow(schedulers.splice(0)),
      close: () => parts.close(),
      openConsole: (program) => openConsole(parts, program),
      openApi: () => openApi(parts),
      async audit() {
        const nodes = async () => (rack ? nodesAtWork(await client.nodes(), rack) : []);
        const hosts = async () => [...(await driversAtWork(drivers)), ...(await nodes())];
        return auditAtRest(clock, async () => auditFleet(placement, await hosts()));
      },
    };
  } catch (thrown) {
    await parts.close();
    throw thrown;
  }
}

interface Closable {
  close(): Promise<void>;
}

/** The stores of a fleet, and all that was opened on them. */
class Parts {
  readonly placement = new MemoryPlacementStore();
  readonly stores;
  readonly cell: string;
  readonly #opened: Closable[] = [];

  constructor(
    readonly context: FleetContext,
    private readonly broker: MemoryBroker,
  ) {
    const { clock, env } = context;
    const { placement } = this;
    this.cell = readConfig({ cell: addressOptions.cell }, env).cell;
    this.stores = {
      placement,
      instances: memoryInstanceStore(clock, MAX_OUTBOX, placement),
      leases: memoryLeaseStore(clock),
      flavors: memoryFlavorStore(clock),
    };
  }

  around(): RuntimeDeps {
    const { clock, random } = this.context;
    return { clock, random, log: silentLog, metrics: createMetrics({}) };
  }

  connect(drainTimeoutMs?: number): Promise<Bus> {
    const drain = drainTimeoutMs === undefined ? {} : { drainTimeoutMs };
    return openBus({ busUrl: 'memory:', cell: this.cell, ...drain }, this.around(), this.broker);
  }

  /** A bus of a process that may be killed: a killed agent closes nothing. */
  readonly connectToDie = () => this.connect(0);

  mirror(): Promise<Mirror> {
    return this.open(Mirror.open(this.placement, this.around()));
  }

  /** Closed with the fleet, in reverse order. */
  async open<T extends Closable>(thing: Promise<T>): Promise<T> {
    this.#opened.push(await thing);
    return thing;
  }

  /** Announces a service among the processes of the cell. */
  present(service: string, index: number, started: Running): Running {
    const { clock } = this.context;
    const readiness = () => started.readiness();
    const processName = `${service}-${index + 1}`;
    this.#opened.push(announce(this.placement, service, { clock, log: silentLog, processName, readiness }));
    return started;
  }

  snapshot(): Promise<FleetSnapshot> {
    return takeSnapshot(this.stores, this.cell, () => this.context.clock.now());
  }

  async closeNow(things: readonly Closable[]): Promise<void> {
    for (const thing of things) {
      this.#opened.splice(this.#opened.indexOf(thing), 1);
      await thing.close();
    }
  }

  async close(): Promise<void> {
    for (const thing of this.#opened.toReversed()) await thing.close();
  }
}

async function startOneScheduler(parts: Parts, index: number): Promise<Running> {
  const bus = await parts.open(parts.connect());
  const mirror = await parts.mirror();
  const config = readConfig(schedulerOptions, parts.context.env);
  const { placement, instances } = parts.stores;
  const started = await parts.open(startScheduler({ ...parts.around(), bus, placement, instances, mirror, config }));
  return parts.present('scheduler', index, started);
}

async function startOneConductor(parts: Parts, index: number): Promise<Running> {
  const { clock, env } = parts.context;
  const bus = await parts.open(parts.connect());
  const config = readConfig(conductorOptions, env);
  const { claimKey } = readConfig({ claimKey: claimKeyOption }, env);
  const sealed = {
    open: (bytes: Uint8Array) => openSealed(bytes, claimKey),
    seal: sealer(claimKey, () => ({ sealedAtMs: clock.now() })),
  };
  const started = await parts.open(startConductor({ ...parts.around(), ...parts.stores, bus, config, ...sealed }));
  return parts.present('conductor', index, started);
}

/** The agents of a fleet: those of a pool, one for each host, or one with all hosts. */
async function startAgents(parts: Parts, settings: FleetSettings, onStep: NonNullable<FleetSettings['onStep']>) {
  const { clock, env } = parts.context;
  const { pool } = settings;
  const around = () => parts.around();
  const connect = parts.connectToDie;
  const agents: Running[] = [];
  const drivers = new Map<string, FakeDriver>();
  const machines = new Map<string, Machine>();
  const start = async (name: string, config: AgentConfig, carries: Parameters<typeof startMachine>[0]['carries']) => {
    const machine = await parts.open(startMachine({ around, connect, config, carries }));
    machines.set(name, machine);
    agents.push(machine.agent);
  };
  const rack = pool && createRack(clock, nodeNames(settings.hosts), pool.bootMs);
  if (rack) {
    for (const host of pool.agents) {
      const config: AgentConfig = { ...readConfig(agentOptions, env), host, driver: 'baremetal' };
      await start(host, config, { nodes: rack.poolNodes(host), driver: driverFromConfig(config, around()) });
    }
  } else if (settings.hasOwnAgents) {
    for (let n = 1; n <= settings.hosts; n++) {
      const config = { ...agentConfig(settings, env), host: `host-${n}`, hosts: 1 };
      const driver = await fakeDrivers(config, around())({ name: config.host, index: n - 1 }, []);
      drivers.set(config.host, driver);
      await start(config.host, config, { driver: async () => driver });
    }
  } else {
    const bus = await parts.open(parts.connect());
    const config = agentConfig(settings, env);
    agents.push(await parts.open(startHosts(config, { ...around(), bus }, drivers, onStep)));
  }
  return { agents, drivers, machines, rack };
}

async function openConsole(parts: Parts, program?: readonly string[]): Promise<string> {
  const { placement, stores } = parts;
  const mirror = await parts.mirror();
  const config = readConfig({ ...authOptions, ...consoleOptions }, parts.context.env);
  const bus = await parts.open(parts.connect());
  const { instances } = stores;
  const berth = berthProcesses({
    program,
    env: parts.context.env,
    memoryMb: config.rehearsalMemoryMb,
    // No other process reads stores in memory.
    fleet: async () => encodeSnapshot(await parts.snapshot()),
  });
  const around = parts.around();
  const { url } = await parts.open(startConsole({ ...around, bus, mirror, instances, placement, config, berth }));
  return url;
}

async function openApi(parts: Parts): Promise<string> {
  const { placement } = parts;
  const { env } = parts.context;
  const around = parts.around();
  const mirror = await parts.mirror();
  const config = readConfig(placementApiOptions, env);
  const own = new Client(await parts.connect(), { ...around, ...CALLS });
  const { claimKey } = readConfig({ claimKey: claimKeyOption }, env);
  const builds = { nameKeys: claimKey.split(','), get: async () => own, close: () => own.close() };
  const { url } = await parts.open(startPlacementApi({ ...around, placement, mirror, builds, config }));
  return url;
}

function agentConfig(settings: FleetSettings, env: Environment): AgentConfig {
  const inventory = Object.entries(settings.shape).map(([name, total]) => `${name}=${total}`);
  return {
    ...readConfig(agentOptions, env),
    host: 'host',
    hosts: settings.hosts,
    inventory: inventory.join(','),
    fakeFailureRate: settings.failureRate,
    fakeLatencyMs: settings.latencyMs,
    fakeLatencySpread: LATENCY_SPREAD,
  };
}

/** One agent with all hosts. */
function startHosts(
  config: AgentConfig,
  parts: RuntimeDeps & { readonly bus: Bus },
  drivers: Map<string, FakeDriver>,
  onStep: NonNullable<FleetSettings['onStep']>,
) {
  const openDriver = fakeDrivers(config, parts);
  return startComputeAgent({
    ...parts,
    config,
    async driver(host, carried) {
      const driver = await openDriver(host, carried);
      drivers.set(host.name, driver);
      if (drivers.size % HOSTS_PER_TURN === 0) await endOfTurn();
      onStep('starting hosts', `${drivers.size} of ${config.hosts}`);
      return driver;
    },
  });
}

/** Waits for the services, and then until every host's first report has reached the schedulers. */
async function allReady(
  { clock, interrupted }: FleetContext,
  services: readonly Running[],
  client: Client,
  { hosts, onStep }: { readonly hosts: number; readonly onStep: NonNullable<FleetSettings['onStep']> },
) {
  let untilMs = clock.elapsed() + STANDSTILL_MS;
  let reason = '';
  while (clock.elapsed() < untilMs && !interrupted.aborted) {
    const waiting = services.map((service) => service.readiness()).find(({ ready }) => !ready);
    const seen = waiting === undefined ? (await client.hosts()).length : 0;
    if (seen === hosts) return;
    const now = waiting?.ready === false ? waiting.reason : `${seen} of ${counted(hosts, 'host')} reported`;
    if (now !== reason) untilMs = clock.elapsed() + STANDSTILL_MS;
    reason = now;
    onStep('waiting for the first reports', reason);
    await sleep(clock, READY_POLL_MS, interrupted);
  }
  throw new BerthError('unavailable', 'not_ready', `the embedded fleet did not become ready: ${reason}`);
}

async function driversAtWork(drivers: EmbeddedFleet['drivers']): Promise<HostTruth[]> {
  return Promise.all([...drivers].map(async ([host, driver]) => ({ host, running: await driver.list() })));
}

/** An instance runs on a node that is powered on, whatever its record says. */
function nodesAtWork(nodes: readonly NodeView[], rack: Rack): HostTruth[] {
  return nodes.map(({ host, instanceUuid: id, resourceClass }) => {
    const isRunning = id !== '' && rack.nodes.get(host)?.isOn === true;
    return { host, running: isRunning ? [{ id, resources: { [resourceClass]: 1 } }] : [] };
  });
}

function nodeNames(count: number): string[] {
  const width = String(count).length;
  return Array.from({ length: count }, (_, n) => `node-${String(n + 1).padStart(width, '0')}`);
}
