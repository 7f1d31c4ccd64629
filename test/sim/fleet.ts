import { DEAD_LETTER_QUEUE } from '#libs/bus/handling/dead-letter';
import { ACK, type Bus } from '#libs/bus/port';
import { userOf } from '#libs/contracts/identity';
import { agentQueue, BUILD_REQUESTS } from '#libs/contracts/queues';
import { readConfig } from '#libs/runtime/config';
import type { Running } from '#libs/runtime/service';
import type { SimulatedBroker } from '#libs/simulation/simulated-bus';
import { type StoreServer } from '#libs/simulation/store-server';
import { agentOptions } from '../../services/compute-agent/options';
import { startComputeAgent } from '../../services/compute-agent/start';
import { Machine, type MachineEvent } from './machine';
import { AGENT, CONDUCTOR, REFERRING, SCHEDULER } from './settings';
import { type Member, Processes } from './world/processes';

/** The machines that each agent carries. */
const AGENTS: Readonly<Record<string, readonly string[]>> = {
  'agent-h1': ['h1'],
  'agent-h2': ['h2'],
  'agent-rack': ['rack-1', 'rack-2'],
};
/** Processes of Berth, and those of others: tenants, an operator, another consumer of the placement store. */
export const SERVICES = ['scheduler-1', 'scheduler-2', 'conductor-1', 'conductor-2', ...Object.keys(AGENTS)];
export const OTHERS = ['tenant-a', 'tenant-b', 'operator', 'nova'];
const VCPUS_PER_HOST = 4;
/** The host whose machine, and its clone's, have providers below the root. */
export const TREE_HOST = 'h2';

/** All of Berth on virtual time, several processes of each service, with their clients. */
export class Fleet extends Processes {
  readonly machines: ReadonlyMap<string, Machine>;
  readonly broker: SimulatedBroker;
  readonly server: StoreServer;
  readonly services = SERVICES;
  /** The world's own bus, behind all links. */
  readonly observer: Bus;
  onMachineEvent: (event: MachineEvent) => void = () => {};
  /** An agent is started a second time, on other machines. */
  onClone: (agent: string) => void = () => {};

  constructor(seed: number) {
    super(seed);
    ({ broker: this.broker, server: this.server } = this.openServers((of) => this.openSession(userOfProcess(of))));
    this.observer = this.openSession('');
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
    // Agents' queues exist from enrolment on; services declare them.
    for (const agent of Object.keys(AGENTS)) await this.observer.declare(agentQueue(serviceHostOf(agent)));
    for (const name of [...SERVICES, ...OTHERS]) this.launch(name);
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
      this.end(member);
      for (const machine of this.machines.values()) if (machine.name.endsWith('-clone')) machine.replace();
    });
  }

  /** True if the agent's second process is alive. */
  hasClone(agent: string): boolean {
    return this.members.get(`${agent}-clone`)?.process.isAlive === true;
  }

  /** True if the machine has a working agent. */
  isCarried(machine: string): boolean {
    return Object.entries(AGENTS).some(([agent, hosts]) => {
      return hosts.includes(machine) && this.member(agent).process.isAlive;
    });
  }

  /** Agents that run, or will again. */
  presentAgents(): string[] {
    return Object.keys(AGENTS).filter((name) => !this.isGone(name));
  }

  /** Puts the dead letters back into the queues that they came from, as an operator does. */
  async putBackDeadLetters(): Promise<void> {
    this.note('operator', 'puts the dead letters back');
    const putBack = new Set<string>();
    const subscription = await this.observer.consume(
      DEAD_LETTER_QUEUE,
      async ({ type, body, id, identity, headers }) => {
        const queue = headers?.['berth-queue'] ?? '';
        // It has expired, or was refused again.
        if (headers?.['berth-error-reason'] === 'expired' || putBack.has(id)) return ACK;
        putBack.add(id);
        await this.observer.cast(queue, { type, body }, { id, onBehalfOf: identity }).catch(() => {});
        return ACK;
      },
    );
    this.time.at(this.time.nowMs + 100, () => void subscription.cancel());
  }

  /** Takes all dead letters; resolves to their ids. */
  async takeDeadLetters(): Promise<ReadonlySet<string>> {
    const ids = new Set<string>();
    const subscription = await this.observer.consume(DEAD_LETTER_QUEUE, async ({ id }) => {
      ids.add(id);
      return ACK;
    });
    await this.time.runUntil(this.time.nowMs + 1);
    await subscription.cancel();
    return ids;
  }

  protected serversOf() {
    return this;
  }

  protected async startOne(name: string, member: Member): Promise<Running | undefined> {
    const { process, bus } = member;
    const [kind] = name.split('-');
    switch (kind) {
      case 'scheduler':
        return this.startScheduler(member, { ...SCHEDULER, ...(name === 'scheduler-2' ? REFERRING : {}) });
      case 'conductor':
        return this.startConductor(member, CONDUCTOR, SCHEDULER);
      case 'agent': {
        const host = serviceHostOf(name);
        const isClone = name.endsWith('-clone');
        const hosts = AGENTS[`agent-${host}`] ?? [];
        const config = { ...readConfig(agentOptions, AGENT), host, hosts: hosts.length };
        const machine = (of: string) => this.machines.get(isClone ? `${of}-clone` : of) as Machine;
        return startComputeAgent({
          ...this.around(process),
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

  #machineEvent(event: MachineEvent): void {
    const { machine, uuid, kind } = event;
    this.note(machine, `${uuid} ${kind}`);
    this.onMachineEvent(event);
  }
}

/** The service host of an agent's process: `agent-h1`, `agent-h1-clone`. */
function serviceHostOf(agent: string): string {
  return agent.split('-')[1] ?? '';
}

/** The broker's user of a process. A cloned machine uses that of its original. */
function userOfProcess(name: string): string {
  const [kind] = name.split('-');
  if (kind === 'tenant') return userOf({ kind: 'project', projectId: name });
  if (kind !== 'agent') return '';
  const host = serviceHostOf(name);
  return userOf({ kind: 'agent', host, carriesOthers: (AGENTS[`agent-${host}`]?.length ?? 1) > 1 });
}
