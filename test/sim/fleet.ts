import { DEAD_LETTER_QUEUE } from '#libs/bus/handling/dead-letter';
import { MemoryBroker } from '#libs/bus/memory/broker';
import { MemoryBus } from '#libs/bus/memory/memory-bus';
import { busOptions } from '#libs/bus/options';
import { ACK, type Bus } from '#libs/bus/port';
import { identityOf, userOf } from '#libs/contracts/identity';
import { agentQueue, BUILD_REQUESTS } from '#libs/contracts/queues';
import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { memoryFlavorStore } from '#libs/instances/memory/flavor-store';
import { memoryInstanceStore } from '#libs/instances/memory/instance-store';
import { memoryLeaseStore } from '#libs/instances/memory/lease-store';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { Mirror } from '#libs/placement/mirror/mirror';
import { open as openSealed } from '#libs/placement/sealed/allocation-request';
import { storeClock } from '#libs/placement/store-clock';
import { watchStore } from '#libs/placement/watch-store';
import { readConfig } from '#libs/runtime/config';
import { type Log, silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import type { Running, Surroundings } from '#libs/runtime/service';
import { History } from '#libs/simulation/history';
import { Link } from '#libs/simulation/link';
import { type SimulatedBroker, SimulatedBus } from '#libs/simulation/simulated-bus';
import { SimulatedProcess } from '#libs/simulation/simulated-process';
import { askStoreTime, simulatedStores } from '#libs/simulation/simulated-stores';
import { StoreServer, type Stores } from '#libs/simulation/store-server';
import { VirtualTime } from '#libs/simulation/virtual-time';
import { agentOptions } from '../../services/compute-agent/options';
import { startComputeAgent } from '../../services/compute-agent/start';
import { conductorOptions } from '../../services/conductor/options';
import { startConductor } from '../../services/conductor/start';
import { schedulerOptions } from '../../services/scheduler/options';
import { startScheduler } from '../../services/scheduler/start';
import { describeMessage } from './describe';
import { Machine, type MachineEvent } from './machine';
import { AGENT, CONDUCTOR, REFERRING, SCHEDULER } from './settings';

/** A process of the fleet, from its start to its end. */
export interface Member {
  readonly process: SimulatedProcess;
  readonly bus: SimulatedBus;
  readonly stores: Stores;
  readonly links: readonly Link[];
  /** Of a scheduler, once its first snapshot is there. */
  mirror: Mirror | undefined;
  /** Once it has started. */
  service: Running | undefined;
}

/** When each run begins: whole, so that histories are easy to read. */
export const START_MS = 1_700_000_000_000;

/** Of each agent, the machines that it carries. */
const AGENTS: Readonly<Record<string, readonly string[]>> = {
  'agent-h1': ['h1'],
  'agent-h2': ['h2'],
  'agent-rack': ['rack-1', 'rack-2'],
};
/** The processes of Berth, and those of others: tenants, an operator, another consumer of the placement store. */
export const SERVICES = ['scheduler-1', 'scheduler-2', 'conductor-1', 'conductor-2', ...Object.keys(AGENTS)];
export const OTHERS = ['tenant-a', 'tenant-b', 'operator', 'nova'];
const VCPUS_PER_HOST = 4;
/** Its machine, and the other machine of its name, have providers below the root. */
export const TREE_HOST = 'h2';
const RELAUNCH_MS = 500;
const SHUTDOWN_TIMEOUT_MS = 5_000;

/** All of Berth on virtual time, several of each, with those who use it. */
export class Fleet {
  readonly time = new VirtualTime(START_MS);
  readonly history = new History();
  readonly machines: ReadonlyMap<string, Machine>;
  readonly members = new Map<string, Member>();
  readonly sessions = new Set<MemoryBus>();
  readonly broker: SimulatedBroker;
  readonly server: StoreServer;
  /** Of the world itself, behind all links. */
  readonly observer: Bus;
  onMachineEvent: (event: MachineEvent) => void = () => {};
  onDefect: (name: string, error: BerthError) => void = () => {};
  /** A conductor shows a doubt: it keeps an instance as it is, on a host. */
  onDoubt: (uuid: string, host: string, finding: string) => void = () => {};
  /** An agent is started a second time, on other machines. */
  onClone: (agent: string) => void = () => {};
  readonly #memoryBroker: MemoryBroker;
  readonly #gone = new Set<string>();
  readonly #away = new Set<string>();
  readonly #ends = new Set<() => void>();
  readonly #starts = new Map<string, number>();
  readonly #world: SimulatedProcess;

  constructor(readonly seed: number) {
    this.#world = new SimulatedProcess('world', this.time, `${seed} world`);
    this.#memoryBroker = new MemoryBroker(this.#world.clock, silentLog);
    this.broker = {
      refusal: undefined,
      openSession: (of) => this.#openSession(userOfProcess(of)),
      describe: describeMessage,
    };
    this.observer = this.#openSession('');
    this.server = new StoreServer(this.time, this.history, () => {
      const placement = new MemoryPlacementStore();
      const instances = memoryInstanceStore(this.#world.clock);
      const leases = memoryLeaseStore(this.#world.clock);
      const flavors = memoryFlavorStore(this.#world.clock);
      return { placement, instances, leases, flavors, goesOn: (atMs) => placement.goOn(atMs) };
    });
    const names = Object.values(AGENTS).flatMap((hosts) => hosts.flatMap((host) => [host, `${host}-clone`]));
    this.machines = new Map(
      names.map((name) => {
        const shape = name.startsWith(TREE_HOST) ? 'tree' : 'flat';
        return [name, new Machine(name, VCPUS_PER_HOST, shape, (event) => this.#machineEvent(event))];
      }),
    );
  }

  /** Starts everything. */
  async start(): Promise<void> {
    await this.observer.declare(BUILD_REQUESTS);
    // As when an agent is enrolled: services declare.
    for (const agent of Object.keys(AGENTS)) await this.observer.declare(agentQueue(serviceHostOf(agent)));
    for (const name of [...SERVICES, ...OTHERS]) this.launch(name);
  }

  /** The present process of a name. */
  member(name: string): Member {
    const member = this.members.get(name);
    if (member === undefined) throw new Error(`nothing is named ${name}`);
    return member;
  }

  /** Starts a process, beside the one that has the name by now, if there is one that lives. */
  launch(name: string): Member {
    const nth = (this.#starts.get(name) ?? 0) + 1;
    this.#starts.set(name, nth);
    const process = new SimulatedProcess(name, this.time, `${this.seed} ${name} ${nth}`);
    const [busLink, storeLink] = ['broker', 'store'].map((to) => {
      return new Link(process, to, this.history, `${this.seed} ${nth}`);
    }) as [Link, Link];
    const bus = new SimulatedBus(busLink, this.broker);
    const stores = simulatedStores(storeLink, this.server);
    const member: Member = { process, bus, stores, links: [busLink, storeLink], mirror: undefined, service: undefined };
    this.members.set(name, member);
    if (nth > 1) this.note(name, 'starts again');
    this.#start(name, member).then(
      (service) => {
        member.service = service;
      },
      (thrown: unknown) => this.#startFailed(name, member, BerthError.from(thrown)),
    );
    return member;
  }

  /** Kills a process, and starts it again after a while. */
  kill(name: string, restartAfterMs: number): void {
    const member = this.member(name);
    if (!member.process.isAlive) return;
    this.note(name, 'is killed');
    this.#end(member);
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
    this.#end(member);
    this.relaunch(name);
  }

  /** Starts an agent's process a second time, on other machines, and ends it after a while. */
  launchClone(name: string, endsAfterMs: number): void {
    const clone = `${name}-clone`;
    if (this.hasClone(name)) return;
    this.note(name, 'is started a second time, on another machine');
    this.onClone(name);
    const member = this.launch(clone);
    this.later(endsAfterMs, () => {
      this.note(name, 'ends on the other machine');
      this.#end(member);
      for (const machine of this.machines.values()) if (machine.name.endsWith('-clone')) machine.replace();
    });
  }

  /** Starts a process unless it runs, or is gone for good. */
  relaunch(name: string): void {
    const isAwaited = !this.#gone.has(name) && !this.#away.has(name);
    if (!this.member(name).process.isAlive && isAwaited) this.launch(name);
  }

  /** Kills an agent that never comes back. What runs on its hosts goes on. */
  remove(name: string): void {
    this.#gone.add(name);
    this.kill(name, 0);
  }

  /** Kills a process that comes back at a time of the run, even if all other faults have ended by then. */
  sendAway(name: string, untilMs: number): void {
    if (this.#gone.has(name) || this.#away.has(name)) return;
    this.#away.add(name);
    this.kill(name, 0);
    this.time.at(START_MS + untilMs, () => {
      this.#away.delete(name);
      this.relaunch(name);
    });
  }

  /** Of all connections that there ever were, the queues for answers that are left. */
  get answerQueueCount(): number {
    const names = Array.from(this.sessions, (_, n) => `answers.${n + 1}`);
    return names.filter((name) => this.hasQueue(name)).length;
  }

  hasQueue(name: string): boolean {
    return this.#memoryBroker.find(name) !== undefined;
  }

  /** Whether the second of an agent's processes is there. */
  hasClone(agent: string): boolean {
    return this.members.get(`${agent}-clone`)?.process.isAlive === true;
  }

  /** Whether a machine has an agent that works. */
  isCarried(machine: string): boolean {
    return Object.entries(AGENTS).some(([agent, hosts]) => {
      return hosts.includes(machine) && this.member(agent).process.isAlive;
    });
  }

  /** The agents that are there, or will be. */
  presentAgents(): string[] {
    return Object.keys(AGENTS).filter((name) => !this.#gone.has(name));
  }

  /** Puts the dead letters back into the queues that they came from, as an operator does. */
  async putBackDeadLetters(): Promise<void> {
    this.note('operator', 'puts the dead letters back');
    const subscription = await this.observer.consume(
      DEAD_LETTER_QUEUE,
      async ({ type, body, id, identity, headers }) => {
        const queue = headers?.['berth-queue'] ?? '';
        // Nobody waits for it any more.
        if (headers?.['berth-error-reason'] === 'expired') return ACK;
        await this.observer.cast(queue, { type, body }, { id, onBehalfOf: identity }).catch(() => {});
        return ACK;
      },
    );
    this.time.at(this.time.nowMs + 100, () => void subscription.cancel());
  }

  /** Does something after a while, if the world still does things to the fleet by then; else at their end. */
  later(afterMs: number, action: () => void): void {
    const once = () => {
      if (this.#ends.delete(once)) action();
    };
    this.#ends.add(once);
    this.time.at(this.time.nowMs + afterMs, once);
  }

  /** Ends all that was done to the fleet: what is cut is joined, what stands still goes on, what is dead starts. */
  heal(): void {
    this.note('world', 'ends all faults');
    for (const end of this.#ends) end();
    for (const name of SERVICES) {
      const { process, links } = this.member(name);
      process.clockOffsetMs = 0;
      for (const link of links) link.disarm();
      this.relaunch(name);
    }
  }

  note(who: string, what: string): void {
    this.history.note({ atMs: this.time.nowMs, from: who, to: who, what });
  }

  #end({ process, bus }: Member): void {
    process.kill();
    bus.endSession();
  }

  async #start(name: string, member: Member): Promise<Running | undefined> {
    const { process, bus, stores } = member;
    const around = this.#around(process);
    const [kind] = name.split('-');
    switch (kind) {
      case 'scheduler': {
        const { placement } = stores;
        const clock = await this.#clockByStore(member);
        member.mirror = await Mirror.open(placement, around);
        const own = name === 'scheduler-2' ? REFERRING : {};
        const config = readConfig(schedulerOptions, { ...SCHEDULER, ...own });
        return startScheduler({ ...around, clock, bus, placement, mirror: member.mirror, config });
      }
      case 'conductor': {
        const config = readConfig(conductorOptions, CONDUCTOR);
        const clock = await this.#clockByStore(member);
        const { claimKey } = readConfig(schedulerOptions, SCHEDULER);
        return startConductor({
          ...around,
          clock,
          ...stores,
          bus,
          config,
          open: (sealed, nowMs) => openSealed(sealed, claimKey, nowMs),
        });
      }
      case 'agent': {
        const host = serviceHostOf(name);
        const isClone = name.endsWith('-clone');
        const hosts = AGENTS[`agent-${host}`] ?? [];
        const config = { ...readConfig(agentOptions, AGENT), host, hosts: hosts.length };
        const machine = (of: string) => this.machines.get(isClone ? `${of}-clone` : of) as Machine;
        return startComputeAgent({
          ...around,
          bus,
          config,
          driver: async ({ name: of }) => machine(of).driver(process),
          journal: async (of) => machine(of).journal(),
        });
      }
      default:
        return undefined;
    }
  }

  /** The clock of a process that stamps what others read, as `openPlacementStore` makes it. */
  async #clockByStore({ process, links, stores: { placement } }: Member): Promise<Clock> {
    const [, link] = links as [Link, Link];
    const clock = storeClock(process.clock);
    const identify = async () => {
      const nowMs = await askStoreTime(link, this.server);
      return { ...(await placement.identify()), nowMs };
    };
    const askedAtMs = clock.elapsed();
    clock.set(await askStoreTime(link, this.server), askedAtMs);
    void watchStore(
      { identify, takeSeen: () => [] },
      { ...this.#around(process), clock },
      new AbortController().signal,
    );
    return clock;
  }

  #startFailed(name: string, member: Member, error: BerthError): void {
    if (!member.process.isAlive) return;
    this.note(name, `can not start: ${error.message}`);
    if (error.code === 'internal') this.onDefect(name, error);
    this.#end(member);
    this.time.at(this.time.nowMs + RELAUNCH_MS, () => this.relaunch(name));
  }

  #around(process: SimulatedProcess): Surroundings {
    return { clock: process.clock, random: process.random, log: this.#logOf(process), metrics: createMetrics({}) };
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

  #openSession(user: string): MemoryBus {
    const config = { ...readConfig(busOptions, {}), drainTimeoutMs: 0 };
    const around = { clock: this.#world.clock, random: this.#world.random, log: silentLog, metrics: createMetrics({}) };
    const session = new MemoryBus(this.#memoryBroker, identityOf(user), config, around);
    this.sessions.add(session);
    return session;
  }

  #machineEvent(event: MachineEvent): void {
    const { machine, uuid, kind } = event;
    this.note(machine, `${uuid} ${kind}`);
    this.onMachineEvent(event);
  }
}

/** The name of a service host, in that of its agent's process: `agent-h1`, `agent-h1-clone`. */
function serviceHostOf(agent: string): string {
  return agent.split('-')[1] ?? '';
}

/** The broker's user of a process. A cloned machine has that of the machine that it was cloned from. */
function userOfProcess(name: string): string {
  const [kind] = name.split('-');
  if (kind === 'tenant') return userOf({ kind: 'project', projectId: name });
  if (kind !== 'agent') return '';
  const host = serviceHostOf(name);
  return userOf({ kind: 'agent', host, carriesOthers: (AGENTS[`agent-${host}`]?.length ?? 1) > 1 });
}
