import type { Bus } from '#libs/bus/port';
import { Client } from '#libs/client/client';
import { userOf } from '#libs/contracts/identity';
import { agentQueue, BUILD_REQUESTS, queueName } from '#libs/contracts/queues';
import { memoryFlavorStore } from '#libs/instances/memory/flavor-store';
import { memoryInstanceStore } from '#libs/instances/memory/instance-store';
import { memoryLeaseStore } from '#libs/instances/memory/lease-store';
import { MAX_OUTBOX } from '#libs/instances/store';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import type { StoreImage } from '#libs/placement/port/placement-store';
import { readConfig } from '#libs/runtime/config';
import { groupBy } from '#libs/runtime/group-by';
import type { Running } from '#libs/runtime/service';
import { type Entry, History } from '#libs/simulation/history';
import type { SimulatedBroker } from '#libs/simulation/simulated-bus';
import { StoreServer } from '#libs/simulation/store-server';
import { agentOptions } from '../../compute-agent/options';
import { startComputeAgent } from '../../compute-agent/start';
import type { FleetSnapshot } from '../fork/fleet-snapshot';
import type { Durations } from '../hosts/durations';
import type { HostContents } from '../hosts/host-contents';
import { RehearsedHost } from '../hosts/rehearsed-host';
import { type Member, Processes, type Settings } from './processes';

/** A fleet that is forked: the same for every seed. */
export interface ForkedFleet {
  readonly snapshot: FleetSnapshot;
  /** The rows of the placement store. */
  readonly image: StoreImage;
  readonly hosts: ReadonlyMap<string, HostContents>;
  readonly durations: Durations;
  /** Settings of its services. */
  readonly settings: Settings;
}

/** Hosts that differ from the beginning: dead ones, and those whose agents run and may end. */
export interface HostLives {
  readonly silent: readonly string[];
  readonly heard: readonly string[];
}

/** A rehearsal draws no diagram, so it keeps no history. */
class NoHistory extends History {
  override note(_entry: Entry): void {}
}

const SERVICES = ['scheduler-1', 'conductor-1'];
/** The user who performs the operation and sends the traffic. */
export const OPERATOR = 'operator';
const CALL_TIMEOUT_MS = 30_000;
const RETRY_MS = 60_000;
const AGENT = 'agent ';
/** Timeout for hosts whose agents are not started: they report nothing, and must not count as silent. */
const EVER = Number.MAX_SAFE_INTEGER;

/**
 * A fork of a fleet on virtual time: its scheduler, its conductor and the agents of its hosts, as they are in the package, on
 * stores in memory that begin with what the fleet's had.
 *
 * An agent starts with the first order for its host, or when something is to happen to it: of a thousand hosts most have
 * nothing to do. Until then its host counts as heard.
 */
export class RehearsedFleet extends Processes {
  readonly broker: SimulatedBroker;
  readonly server: StoreServer;
  readonly services = SERVICES;
  readonly hosts = new Map<string, RehearsedHost>();
  readonly placement: MemoryPlacementStore;
  protected override readonly delays = DELAYS;
  readonly #silent = new Set<string>();
  readonly #settings: Settings;

  constructor(
    seed: number,
    private readonly fork: ForkedFleet,
    private readonly lives: HostLives,
  ) {
    super(seed, fork.snapshot.takenAtMs, new NoHistory());
    const { cell } = fork.snapshot;
    for (const host of lives.silent) this.#silent.add(host);
    this.#settings = { ...fork.settings, BERTH_CELL: cell };
    this.placement = new MemoryPlacementStore(undefined, this.#withHeartbeats(fork.image));
    const { clock } = this.world;
    this.server = new StoreServer(this.time, this.history, () => ({
      placement: this.placement,
      instances: memoryInstanceStore(clock, MAX_OUTBOX, this.placement),
      leases: memoryLeaseStore(clock),
      flavors: memoryFlavorStore(clock),
      goesOn: () => {},
    }));
    this.broker = {
      refusal: undefined,
      openSession: (of) => this.#openSession(of),
      describe: (message) => this.describe(message),
    };
  }

  /** Starts the services and the agents of `lives.heard`; resolves to an operator's client. */
  async start(): Promise<Client> {
    const hosts = this.lives.heard;
    const observer = this.openSession('', this.fork.snapshot.cell);
    await observer.declare(BUILD_REQUESTS);
    await this.#loadRecords();
    for (const name of SERVICES) this.launch(name);
    const { process, bus } = this.launch(OPERATOR);
    await this.#until(() => SERVICES.every((name) => this.member(name).service !== undefined));
    for (const host of hosts) this.startAgent(host);
    await this.#until(() => hosts.every((host) => this.#silent.has(host) || this.#hasStarted(host)));
    return new Client(bus, {
      clock: process.clock,
      random: process.random,
      timeoutMs: CALL_TIMEOUT_MS,
      retryForMs: RETRY_MS,
    });
  }

  /** Starts the agent of a host, unless it runs or fell silent for good. */
  startAgent(host: string): void {
    if (this.#silent.has(host) || this.members.has(AGENT + host)) return;
    const contents = this.fork.hosts.get(host);
    if (contents === undefined) return;
    this.hosts.set(host, new RehearsedHost(contents, this.fork.durations));
    this.launch(AGENT + host);
  }

  /** Ends the agent of a host, for good. */
  switchOff(host: string): void {
    this.#silent.add(host);
    if (this.members.has(AGENT + host)) this.remove(AGENT + host);
  }

  /** Kills the agent of a host, and starts it again after a time. */
  stopAgent(host: string, forMs: number): void {
    if (this.members.has(AGENT + host)) this.kill(AGENT + host, forMs);
  }

  /** UUIDs of the instances on a host. */
  instancesOn(host: string): readonly string[] {
    const started = this.hosts.get(host);
    if (started !== undefined) return [...started.journal.instances.keys()];
    return this.fork.hosts.get(host)?.instances.map(({ uuid }) => uuid) ?? [];
  }

  /** Names of the agents that run. */
  get agents(): readonly string[] {
    return [...this.members.keys()].filter((name) => name.startsWith(AGENT));
  }

  get operator(): Member {
    return this.member(OPERATOR);
  }

  protected serversOf() {
    return this;
  }

  protected async startOne(name: string, member: Member): Promise<Running | undefined> {
    if (name.startsWith(AGENT)) return this.#startAgent(name.slice(AGENT.length), member);
    switch (name.split('-')[0]) {
      case 'scheduler':
        return this.startScheduler(member, this.#settings);
      case 'conductor':
        return this.startConductor(member, this.#settings, this.#settings);
      default:
        return undefined;
    }
  }

  #startAgent(host: string, { process, bus }: Member): Promise<Running> {
    const rehearsed = this.hosts.get(host) as RehearsedHost;
    const config = {
      ...readConfig(agentOptions, this.#settings),
      host,
      hosts: 1,
      driver: 'fake',
      stateDir: '',
    } as const;
    return startComputeAgent({
      ...this.around(process),
      bus,
      config,
      driver: async () => rehearsed.driver(process),
      journal: async () => rehearsed.journal,
    });
  }

  #hasStarted(host: string): boolean {
    return this.members.get(AGENT + host)?.service !== undefined;
  }

  /** Opens a connection. An order for a host without an agent starts that agent. */
  #openSession(of: string): Bus {
    const { cell } = this.fork.snapshot;
    const host = of.startsWith(AGENT) ? of.slice(AGENT.length) : undefined;
    const user = host === undefined ? '' : userOf({ kind: 'agent', host, carriesOthers: false }, cell);
    const session = this.openSession(user, cell);
    if (!of.startsWith('conductor')) return session;
    const cast = session.cast.bind(session);
    session.cast = async (address, message, options) => {
      const queue = queueName(address);
      const to = ORDERS.exec(queue)?.[1];
      if (to !== undefined && this.fork.hosts.has(to)) {
        await session.declare(agentQueue(to));
        this.startAgent(to);
      }
      return cast(address, message, options);
    };
    return session;
  }

  async #loadRecords(): Promise<void> {
    const { instances, flavors } = this.server.stores;
    const byRequest = groupBy(this.fork.snapshot.instances, ({ requestId }) => requestId);
    for (const [requestId, records] of byRequest) {
      await instances.create(requestId, records);
      await Promise.all(records.map(({ uuid, version }) => instances.markPublished(uuid, version)));
    }
    for (const { version: _version, ...flavor } of this.fork.snapshot.flavors) {
      await flavors.writeFlavor(flavor, undefined);
    }
  }

  #withHeartbeats(image: StoreImage): StoreImage {
    const isHeard = new Set([...this.lives.silent, ...this.lives.heard]);
    const heard = ([host, atMs]: readonly [string, number]) => [host, isHeard.has(host) ? atMs : EVER] as const;
    return { ...image, heartbeats: image.heartbeats.map(heard) };
  }

  async #until(isTrue: () => boolean): Promise<void> {
    const untilMs = this.time.nowMs + START_LIMIT_MS;
    while (!isTrue() && this.time.nowMs < untilMs) await this.time.runUntil(this.time.nowMs + STEP_MS);
  }
}

/** Delays as in one data centre. */
const DELAYS = { usualMs: 1, slowShare: 0.01, slowMs: 20 };
const ORDERS = /^agent\.(.+)$/;
const START_LIMIT_MS = 60_000;
const STEP_MS = 50;
