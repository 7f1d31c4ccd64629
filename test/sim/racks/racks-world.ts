import type { Bus } from '#libs/bus/port';
import { userOf } from '#libs/contracts/identity';
import { agentQueue, BUILD_REQUESTS } from '#libs/contracts/queues';
import { readConfig } from '#libs/runtime/config';
import type { Metrics } from '#libs/runtime/metrics';
import type { Running, RuntimeDeps } from '#libs/runtime/service';
import type { SimulatedBroker } from '#libs/simulation/simulated-bus';
import type { SimulatedProcess } from '#libs/simulation/simulated-process';
import type { StoreServer } from '#libs/simulation/store-server';
import { agentOptions } from '../../../services/compute-agent/options';
import { startComputeAgent } from '../../../services/compute-agent/start';
import { Machine, type MachineEvent } from '../machine';
import { type Member, Processes } from '../world/processes';
import { AGENT, CONDUCTOR, HOSTS, SCHEDULER, TENANTS } from './settings';

export const SCHEDULERS = ['scheduler-1', 'scheduler-2'] as const;
export const SERVICES = [...SCHEDULERS, 'conductor-1', 'conductor-2', ...HOSTS.map((host) => `agent-${host}`)];
export const OTHERS = [...TENANTS, 'operator', 'nova'];
const VCPUS_PER_HOST = 4;

/** Hosts in three racks, two schedulers, two conductors, an operator who sets guarantees, and another consumer of the store. */
export class RacksWorld extends Processes {
  readonly services = SERVICES;
  readonly broker: SimulatedBroker;
  readonly server: StoreServer;
  readonly observer: Bus;
  readonly machines: ReadonlyMap<string, Machine>;
  readonly #metrics = new Map<SimulatedProcess, Metrics>();

  constructor(seed: number) {
    super(seed);
    ({ broker: this.broker, server: this.server } = this.openServers((of) => this.openSession(userOfProcess(of))));
    this.observer = this.openSession('');
    const note = ({ machine, uuid, kind }: MachineEvent) => this.note(machine, `${uuid} ${kind}`);
    this.machines = new Map(HOSTS.map((name) => [name, new Machine(name, VCPUS_PER_HOST, 'flat', note)]));
  }

  async start(): Promise<void> {
    await this.observer.declare(BUILD_REQUESTS);
    for (const host of HOSTS) await this.observer.declare(agentQueue(host));
    for (const name of [...SERVICES, ...OTHERS]) this.launch(name);
  }

  /** Sums of a scheduler's metric by its label; empty where there are none. */
  async measured(scheduler: string, metric: string): Promise<ReadonlyMap<string, number>> {
    const lines = (await this.#metrics.get(this.member(scheduler).process)?.expose())?.split('\n') ?? [];
    const found = lines.flatMap((line) => {
      const [, label = '', value] = /^\w+(?:\{\w+="([^"]*)"\})? (\d+)$/.exec(line) ?? [];
      return line.startsWith(`${metric}{`) || line.startsWith(`${metric} `) ? [[label, Number(value)] as const] : [];
    });
    return new Map(found);
  }

  protected override around(process: SimulatedProcess): RuntimeDeps {
    const around = super.around(process);
    if (!this.#metrics.has(process)) this.#metrics.set(process, around.metrics);
    return around;
  }

  protected serversOf() {
    return this;
  }

  protected async startOne(name: string, member: Member): Promise<Running | undefined> {
    const [kind, which = ''] = name.split('-');
    switch (kind) {
      case 'scheduler':
        return this.startScheduler(member, SCHEDULER);
      case 'conductor':
        return this.startConductor(member, CONDUCTOR, SCHEDULER);
      case 'agent': {
        const machine = this.machines.get(which) as Machine;
        return startComputeAgent({
          ...this.around(member.process),
          bus: member.bus,
          config: { ...readConfig(agentOptions, AGENT), host: which, hosts: 1 },
          driver: async () => machine.driver(member.process),
          journal: async () => machine.journal(),
        });
      }
      default:
        return undefined;
    }
  }
}

function userOfProcess(name: string): string {
  const [kind, which = ''] = name.split('-');
  if (kind === 'tenant') return userOf({ kind: 'project', projectId: name });
  return kind === 'agent' ? userOf({ kind: 'agent', host: which, carriesOthers: false }) : '';
}
