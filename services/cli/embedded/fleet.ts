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
import { startConsole } from '../../console/start';
import { CALLS } from '../../placement-api/builds/lazy-client';
import { placementApiOptions } from '../../placement-api/options';
import { startPlacementApi } from '../../placement-api/start';
import { type FleetSnapshot, takeSnapshot } from '../../rehearsal/fork/fleet-snapshot';
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
   */
  openConsole(): Promise<string>;
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
  const around = (): RuntimeDeps => ({ clock, random, log: silentLog, metrics: createMetrics({}) });
  const { broker = new MemoryBroker(clock, silentLog) } = settings;
  const { cell } = readConfig({ cell: addressOptions.cell }, env);
  const connect = (drainTimeoutMs?: number) => {
    return openBus(
      { busUrl: 'memory:', cell, ...(drainTimeoutMs !== undefined && { drainTimeoutMs }) },
      around(),
      broker,
    );
  };
  // A killed agent closes nothing.
  const connectToDie = () => connect(0);
  const placement = new MemoryPlacementStore();
  const stores = {
    placement,
    instances: memoryInstanceStore(clock, MAX_OUTBOX, placement),
    leases: memoryLeaseStore(clock),
    flavors: memoryFlavorStore(clock),
  };
  const opened: { close(): Promise<void> }[] = [];
  const open = async <T extends { close(): Promise<void> }>(thing: Promise<T>): Promise<T> => {
    opened.push(await thing);
    return thing;
  };
  const close = async () => {
    for (const thing of opened.toReversed()) await thing.close();
  };

  const present = async (service: string, index: number, started: Running) => {
    const readiness = () => started.readiness();
    return announce(placement, service, { clock, log: silentLog, processName: `${service}-${index + 1}`, readiness });
  };

  try {
    const services: Running[] = [];
    const schedulers: Running[] = [];
    onStep('starting schedulers and conductors');
    for (let i = 0; i < settings.schedulers; i++) {
      const bus = await open(connect());
      const mirror = await open(Mirror.open(placement, { clock, random, log: silentLog }));
      const config = readConfig(schedulerOptions, env);
      const started = await open(startScheduler({ ...around(), bus, placement, mirror, config }));
      await open(present('scheduler', i, started));
      services.push(started);
      schedulers.push(started);
    }
    for (let i = 0; i < settings.conductors; i++) {
      const bus = await open(connect());
      const config = readConfig(conductorOptions, env);
      const { claimKey } = readConfig({ claimKey: claimKeyOption }, env);
      const sealed = {
        open: (bytes: Uint8Array) => openSealed(bytes, claimKey),
        seal: sealer(claimKey, () => ({ sealedAtMs: clock.now() })),
      };
      const started = await open(startConductor({ ...around(), ...stores, bus, config, ...sealed }));
      await open(present('conductor', i, started));
      services.push(started);
    }
    const drivers = new Map<string, FakeDriver>();
    const machines = new Map<string, Machine>();
    let rack: Rack | undefined;
    if (settings.pool) {
      const { agents, bootMs } = settings.pool;
      rack = createRack(clock, nodeNames(settings.hosts), bootMs);
      for (const host of agents) {
        const config: AgentConfig = { ...readConfig(agentOptions, env), host, driver: 'baremetal' };
        const carries = { nodes: rack.poolNodes(host), driver: driverFromConfig(config, around()) };
        const machine = await open(startMachine({ around, connect: connectToDie, config, carries }));
        machines.set(host, machine);
        services.push(machine.agent);
      }
    } else if (settings.hasOwnAgents) {
      for (let n = 1; n <= settings.hosts; n++) {
        const config = { ...agentConfig(settings, env), host: `host-${n}`, hosts: 1 };
        const driver = await fakeDrivers(config, around())({ name: config.host, index: n - 1 }, []);
        drivers.set(config.host, driver);
        const machine = await open(
          startMachine({ around, connect: connectToDie, config, carries: { driver: async () => driver } }),
        );
        machines.set(config.host, machine);
        services.push(machine.agent);
      }
    } else {
      const bus = await open(connect());
      services.push(await open(startHosts(agentConfig(settings, env), { ...around(), bus }, drivers, onStep)));
    }
    const bus = await open(connect());
    await bus.declare(BUILD_REQUESTS);
    const client = await open(
      Promise.resolve(new Client(bus, { clock, random, timeoutMs: CALL_TIMEOUT_MS, retryForMs: 0 })),
    );
    await allReady(context, services, client, { hosts: settings.hosts, onStep });
    return {
      client,
      placement,
      drivers,
      machines,
      rack,
      broker,
      snapshot: () => takeSnapshot(stores, cell, () => clock.now()),
      async stopSchedulers() {
        for (const started of schedulers.splice(0)) {
          opened.splice(opened.indexOf(started), 1);
          await started.close();
        }
      },
      close,
      async openConsole() {
        const parts = around();
        const mirror = await open(Mirror.open(placement, parts));
        const config = readConfig({ ...authOptions, ...consoleOptions }, env);
        const itsBus = await open(connect());
        const { url } = await open(
          startConsole({ ...parts, bus: itsBus, mirror, instances: stores.instances, placement, config }),
        );
        return url;
      },
      async openApi() {
        const parts = around();
        const mirror = await open(Mirror.open(placement, parts));
        const config = readConfig(placementApiOptions, env);
        const own = new Client(await connect(), { ...parts, ...CALLS });
        const { claimKey } = readConfig({ claimKey: claimKeyOption }, env);
        const builds = { nameKeys: claimKey.split(','), get: async () => own, close: () => own.close() };
        const { url } = await open(startPlacementApi({ ...parts, placement, mirror, builds, config }));
        return url;
      },
      async audit() {
        const nodes = async () => (rack ? nodesAtWork(await client.nodes(), rack) : []);
        const hosts = async () => [...(await driversAtWork(drivers)), ...(await nodes())];
        return auditAtRest(clock, async () => auditFleet(placement, await hosts()));
      },
    };
  } catch (thrown) {
    await close();
    throw thrown;
  }
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
