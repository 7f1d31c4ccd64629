import { MemoryBroker } from '#libs/bus/memory/broker';
import { MemoryBus } from '#libs/bus/memory/memory-bus';
import { busOptions } from '#libs/bus/options';
import { identityOf } from '#libs/contracts/identity';
import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { memoryFlavorStore } from '#libs/instances/memory/flavor-store';
import { memoryInstanceStore } from '#libs/instances/memory/instance-store';
import { memoryLeaseStore } from '#libs/instances/memory/lease-store';
import { MAX_OUTBOX } from '#libs/instances/store';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { Mirror } from '#libs/placement/mirror/mirror';
import { open as openSealed, sealer } from '#libs/placement/sealed/allocation-request';
import { storeClock } from '#libs/placement/store-clock';
import { watchStore } from '#libs/placement/watch-store';
import { readConfig } from '#libs/runtime/config';
import { type Log, silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import type { Running, RuntimeDeps } from '#libs/runtime/service';
import { History } from '#libs/simulation/history';
import { Link, type LinkDelays } from '#libs/simulation/link';
import { type Message, type SimulatedBroker, SimulatedBus } from '#libs/simulation/simulated-bus';
import { SimulatedProcess } from '#libs/simulation/simulated-process';
import { askStoreTime, simulatedStores } from '#libs/simulation/simulated-stores';
import { StoreServer, type Stores } from '#libs/simulation/store-server';
import { VirtualTime } from '#libs/simulation/virtual-time';
import { conductorOptions } from '../../conductor/options';
import { startConductor } from '../../conductor/start';
import { schedulerOptions } from '../../scheduler/options';
import { startScheduler } from '../../scheduler/start';

/** One run of a process, from its start to its end. */
export interface Member {
  readonly process: SimulatedProcess;
  readonly bus: SimulatedBus;
  readonly stores: Stores;
  /** Links to the broker, to the store, and to its other servers. */
  readonly links: Link[];
  /** A scheduler's mirror, once its first snapshot is loaded. */
  mirror: Mirror | undefined;
  /** Set once the process has started. */
  service: Running | undefined;
}

/** The servers that a process is connected to. */
export interface Servers {
  readonly broker: SimulatedBroker;
  readonly server: StoreServer;
}

/** Settings of a service, by variable. */
export type Settings = Readonly<Record<string, string | undefined>>;

const RELAUNCH_MS = 500;
const SHUTDOWN_TIMEOUT_MS = 5_000;

/**
 * Processes on virtual time: they start, die, pause and come back. A world says what they are and which servers they use. (Inherited,
 * because faults of a world act on its processes.)
 */
export abstract class Processes {
  readonly time: VirtualTime;
  readonly members = new Map<string, Member>();
  readonly sessions = new Set<MemoryBus>();
  onDefect: (name: string, error: BerthError) => void = () => {};
  /** A conductor reported a doubt about an instance on a host. */
  onDoubt: (uuid: string, host: string, finding: string) => void = () => {};
  /** Delays of the links; uneven by default. */
  protected readonly delays?: LinkDelays;
  /** The process behind all links. */
  protected readonly world: SimulatedProcess;
  protected readonly memoryBroker: MemoryBroker;
  readonly #gone = new Set<string>();
  readonly #away = new Set<string>();
  readonly #ends = new Set<() => void>();
  readonly #starts = new Map<string, number>();

  constructor(
    readonly seed: number,
    readonly startMs: number,
    readonly history = new History(),
  ) {
    this.time = new VirtualTime(startMs);
    this.world = new SimulatedProcess('world', this.time, `${seed} world`);
    this.memoryBroker = new MemoryBroker(this.world.clock, silentLog);
  }

  /** Names of the processes that run while there are no faults. */
  abstract readonly services: readonly string[];
  /** Starts the service of a process; undefined for processes that only hold connections. */
  protected abstract startOne(name: string, member: Member): Promise<Running | undefined>;
  protected abstract serversOf(name: string): Servers;

  /** A message in words, for the history. */
  protected describe({ type }: Message): string {
    return type;
  }

  /** The current process of a name. */
  member(name: string): Member {
    const member = this.members.get(name);
    if (member === undefined) throw new Error(`nothing is named ${name}`);
    return member;
  }

  /** Starts a process; one that lives under the same name runs on beside it. */
  launch(name: string): Member {
    const nth = (this.#starts.get(name) ?? 0) + 1;
    this.#starts.set(name, nth);
    const { broker, server } = this.serversOf(name);
    const process = new SimulatedProcess(name, this.time, `${this.seed} ${name} ${nth}`);
    const [busLink, storeLink] = ['broker', 'store'].map((to) => this.linkTo(to, process, nth)) as [Link, Link];
    const bus = new SimulatedBus(busLink, broker);
    const stores = simulatedStores(storeLink, server);
    const member: Member = { process, bus, stores, links: [busLink, storeLink], mirror: undefined, service: undefined };
    this.members.set(name, member);
    if (nth > 1) this.note(name, 'starts again');
    this.startOne(name, member).then(
      (service) => {
        member.service = service;
      },
      (thrown: unknown) => this.#startFailed(name, member, BerthError.from(thrown)),
    );
    return member;
  }

  /** A further connection of a process. */
  protected linkTo(to: string, process: SimulatedProcess, nth = this.#starts.get(process.name) ?? 0): Link {
    return new Link(process, to, this.history, { seed: `${this.seed} ${nth}`, delays: this.delays });
  }

  /** Kills a process, and starts it again after a while. */
  kill(name: string, restartAfterMs: number): void {
    const member = this.member(name);
    if (!member.process.isAlive) return;
    this.note(name, 'is killed');
    this.end(member);
    this.time.at(this.time.nowMs + restartAfterMs, () => this.relaunch(name));
  }

  /** Ends a process as SIGTERM does, or kills it when that takes too long, and starts it again. */
  async restart(name: string): Promise<void> {
    const member = this.member(name);
    const { process, service, mirror, bus } = member;
    if (!process.isAlive || service === undefined) return;
    this.note(name, 'stops in order');
    this.later(SHUTDOWN_TIMEOUT_MS, () => process.isAlive && this.kill(name, RELAUNCH_MS));
    await service.close();
    await mirror?.close();
    await bus.close();
    this.end(member);
    this.relaunch(name);
  }

  /** Starts a process unless it runs, or is gone for good. */
  relaunch(name: string): void {
    const isAwaited = !this.#gone.has(name) && !this.#away.has(name);
    if (!this.member(name).process.isAlive && isAwaited) this.launch(name);
  }

  /** Kills a process that never comes back. */
  remove(name: string): void {
    this.#gone.add(name);
    this.kill(name, 0);
  }

  /** True if it never comes back. */
  isGone(name: string): boolean {
    return this.#gone.has(name);
  }

  /** Kills a process until a given time of the run, even if all other faults have ended by then. */
  sendAway(name: string, untilMs: number): void {
    if (!this.#leave(name, untilMs)) return;
    this.kill(name, 0);
  }

  /** Ends a process in order; it comes back at the given time. */
  async stepBack(name: string, untilMs: number): Promise<void> {
    if (this.#leave(name, untilMs)) await this.restart(name);
  }

  #leave(name: string, untilMs: number): boolean {
    if (this.#gone.has(name) || this.#away.has(name)) return false;
    this.#away.add(name);
    this.time.at(this.startMs + untilMs, () => {
      this.#away.delete(name);
      this.relaunch(name);
    });
    return true;
  }

  /** Answer queues left, of all connections ever opened. */
  get answerQueueCount(): number {
    const names = Array.from(this.sessions, (_, n) => `answers.${n + 1}`);
    return names.filter((name) => this.hasQueue(name)).length;
  }

  hasQueue(name: string): boolean {
    return this.memoryBroker.find(name) !== undefined;
  }

  /** Acts after a while, or when the faults end if that is earlier. */
  later(afterMs: number, action: () => void): void {
    const once = () => {
      if (this.#ends.delete(once)) action();
    };
    this.#ends.add(once);
    this.time.at(this.time.nowMs + afterMs, once);
  }

  /** Ends all faults: links are joined, paused processes go on, dead ones start. */
  heal(): void {
    this.note('world', 'ends all faults');
    for (const end of this.#ends) end();
    for (const name of this.services) {
      const { process, links } = this.member(name);
      process.clockOffsetMs = 0;
      for (const link of links) link.disarm();
      this.relaunch(name);
    }
  }

  note(who: string, what: string): void {
    this.history.note({ atMs: this.time.nowMs, from: who, to: who, what });
  }

  /** Starts a scheduler, the same way in each world. */
  protected async startScheduler(member: Member, settings: Settings): Promise<Running> {
    const { process, bus, stores } = member;
    const { placement } = stores;
    const around = this.around(process);
    const clock = await this.clockByStore(member);
    member.mirror = await Mirror.open(placement, around);
    const config = readConfig(schedulerOptions, settings);
    return startScheduler({ ...around, clock, bus, ...stores, mirror: member.mirror, config });
  }

  protected async startConductor(member: Member, settings: Settings, ofScheduler: Settings): Promise<Running> {
    const { process, bus, stores } = member;
    const config = readConfig(conductorOptions, settings);
    const clock = await this.clockByStore(member);
    const { claimKey } = readConfig(schedulerOptions, ofScheduler);
    return startConductor({
      ...this.around(process),
      clock,
      ...stores,
      bus,
      config,
      open: (sealed, nowMs) => openSealed(sealed, claimKey, nowMs),
      seal: sealer(claimKey),
    });
  }

  /** The clock of a process whose timestamps others read, as `openPlacementStore` makes it. */
  protected async clockByStore({ process, links, stores: { placement } }: Member): Promise<Clock> {
    const [, link] = links as [Link, Link];
    const { server } = this.serversOf(process.name);
    const clock = storeClock(process.clock);
    const identify = async () => {
      const nowMs = await askStoreTime(link, server);
      return { ...(await placement.identify()), nowMs };
    };
    const askedAtMs = clock.elapsed();
    clock.set(await askStoreTime(link, server), askedAtMs);
    const watched = { identify, commit: placement.commit.bind(placement), takeSeen: () => [] };
    void watchStore(watched, { ...this.around(process), clock }, new AbortController().signal);
    return clock;
  }

  protected around(process: SimulatedProcess): RuntimeDeps {
    return { clock: process.clock, random: process.random, log: this.#logOf(process), metrics: createMetrics({}) };
  }

  /** A broker and a store of their own. */
  protected openServers(
    openSession: SimulatedBroker['openSession'],
    openPlacement: () => MemoryPlacementStore = () => new MemoryPlacementStore(),
  ): Servers {
    const server = new StoreServer(this.time, this.history, () => {
      const placement = openPlacement();
      const { clock } = this.world;
      const stores = { instances: memoryInstanceStore(clock, MAX_OUTBOX, placement), leases: memoryLeaseStore(clock) };
      return {
        placement,
        ...stores,
        flavors: memoryFlavorStore(clock),
        goesOn: (atMs) => placement.goOn(atMs, () => clock.now()),
      };
    });
    return { broker: { refusal: undefined, openSession, describe: (message) => this.describe(message) }, server };
  }

  /** A connection to the broker, in a cell. */
  protected openSession(user: string, cell?: string): MemoryBus {
    const config = { ...readConfig(busOptions, {}), drainTimeoutMs: 0, ...(cell !== undefined && { cell }) };
    const around = { clock: this.world.clock, random: this.world.random, log: silentLog, metrics: createMetrics({}) };
    const session = new MemoryBus(this.memoryBroker, identityOf(user, cell), config, around);
    this.sessions.add(session);
    return session;
  }

  protected end({ process, bus }: Member): void {
    process.kill();
    bus.endSession();
  }

  #startFailed(name: string, member: Member, error: BerthError): void {
    if (!member.process.isAlive) return;
    this.note(name, `can not start: ${error.message}`);
    if (error.code === 'internal') this.onDefect(name, error);
    this.end(member);
    this.time.at(this.time.nowMs + RELAUNCH_MS, () => this.relaunch(name));
  }

  /** Warnings and errors of a process go to the history. */
  #logOf(process: SimulatedProcess): Log {
    const note = (fields: object, message: string) => {
      const { event, finding, host, instance_uuid: uuid, err, error = err } = fields as Record<string, unknown>;
      if (event === 'doubt') this.onDoubt(String(uuid), String(host), String(finding));
      const details = [finding, host].filter((value) => typeof value === 'string').join(', ');
      this.note(process.name, `says: ${message}${details === '' ? '' : ` (${details})`}`);
      const isDefect = error instanceof BerthError && error.code === 'internal' && error.reason === 'unexpected';
      if (isDefect && event !== 'build_failed') this.onDefect(process.name, error);
    };
    const log: Log = { ...silentLog, warn: note, error: note, child: () => log };
    return log;
  }
}
