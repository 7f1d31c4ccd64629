import type { Bus } from '#libs/bus/port';
import { CellLink } from '#libs/cells/cell-link';
import { memoryCellStore } from '#libs/cells/cell-store';
import { inCell } from '#libs/contracts/cells';
import { userOf } from '#libs/contracts/identity';
import { agentQueue, BUILD_REQUESTS } from '#libs/contracts/queues';
import { TOP } from '#libs/domain/cells/cell';
import { Mirror } from '#libs/placement/mirror/mirror';
import { readConfig } from '#libs/runtime/config';
import type { Running } from '#libs/runtime/service';
import { SimulatedBus } from '#libs/simulation/simulated-bus';
import { agentOptions } from '../../../services/compute-agent/options';
import { startComputeAgent } from '../../../services/compute-agent/start';
import { topConductorOptions } from '../../../services/top-conductor/options';
import { startTopConductor } from '../../../services/top-conductor/start';
import { topSchedulerOptions } from '../../../services/top-scheduler/options';
import { startTopScheduler } from '../../../services/top-scheduler/start';
import { Machine, type MachineEvent } from '../machine';
import { type Member, Processes, type Servers } from '../world/processes';
import { AGENT, CONDUCTOR, SCHEDULER, TOP_CONDUCTOR, TOP_SCHEDULER } from './settings';

export const CELLS = ['a', 'b'] as const;
export type CellName = (typeof CELLS)[number];
/** Hosts of both cells have the same names. */
export const HOSTS = ['h1', 'h2'] as const;
/** The zone of each host; both cells have a host in z2. */
export const ZONE_OF: Readonly<Record<string, string>> = { 'a-h1': 'z1', 'a-h2': 'z2', 'b-h1': 'z2', 'b-h2': 'z3' };
const IN_CELL = ['scheduler-1', 'scheduler-2', 'conductor-1', 'conductor-2', ...HOSTS.map((host) => `agent-${host}`)];
export const TOPS = ['top-scheduler-1', 'top-scheduler-2', 'top-conductor-1', 'top-conductor-2'];
export const SERVICES = [...TOPS, ...CELLS.flatMap((cell) => IN_CELL.map((name) => `${cell}-${name}`))];
export const TENANTS = ['tenant-a', 'tenant-b'] as const;
export const OTHERS = [TOP, ...CELLS].flatMap((cell) => [...TENANTS, 'operator'].map((who) => `${cell}-${who}`));
const VCPUS_PER_HOST = 4;

/** Two cells, each with a store and a broker of its own, their top, and the clients of both. */
export class CellsWorld extends Processes {
  readonly services = SERVICES;
  /** Servers of the top and of each cell: names on one broker, and a store each. */
  readonly servers: Readonly<Record<string, Servers>>;
  /** Machines by cell and host. */
  readonly machines: ReadonlyMap<string, Machine>;
  readonly observers: Readonly<Record<string, Bus>>;
  onMachineEvent: (event: MachineEvent) => void = () => {};
  /** States of cells, as operators set them. */
  readonly #cellStates = memoryCellStore();
  /** Connections of the top's processes to cells. */
  readonly #cellBuses = new Map<Member, SimulatedBus[]>();

  constructor(seed: number) {
    super(seed);
    const all = [TOP, ...CELLS];
    this.servers = Object.fromEntries(all.map((cell) => [cell, this.#openServers(cell)]));
    const [ofTop, ...ofCells] = this.traces;
    for (const [n, ofCell] of ofCells.entries()) {
      ofCell.onGiven = (uuids, process) => {
        if (cellOf(process) !== TOP) return;
        ofTop?.take({ of: 'reservations', step: { kind: 'give', cell: CELLS[n] as CellName, uuids } });
      };
    }
    this.observers = Object.fromEntries(all.map((cell) => [cell, this.openSession(inCell(cell, 'scheduler'), cell)]));
    const names = CELLS.flatMap((cell) => HOSTS.map((host) => `${cell}-${host}`));
    this.machines = new Map(
      names.map((name) => [name, new Machine(name, VCPUS_PER_HOST, 'flat', (event) => this.#machineEvent(event))]),
    );
  }

  async start(): Promise<void> {
    for (const cell of [TOP, ...CELLS]) await this.observers[cell]?.declare(BUILD_REQUESTS);
    for (const cell of CELLS) for (const host of HOSTS) await this.observers[cell]?.declare(agentQueue(host));
    for (const name of [...SERVICES, ...OTHERS]) this.launch(name);
  }

  serversOfCell(cell: string): Servers {
    return this.servers[cell] as Servers;
  }

  /** The links of the top's processes to a cell. */
  linksTo(cell: CellName) {
    return TOPS.flatMap((name) => {
      const link = this.member(name).links[2 + CELLS.indexOf(cell)];
      return link ? [link] : [];
    });
  }

  protected serversOf(name: string): Servers {
    return this.serversOfCell(cellOf(name));
  }

  protected async startOne(name: string, member: Member): Promise<Running | undefined> {
    const cell = cellOf(name);
    const its = { BERTH_CELL: cell };
    switch (kindOf(name)) {
      case 'scheduler':
        return cell === TOP ? this.#startTopScheduler(member) : this.startScheduler(member, { ...SCHEDULER });
      case 'conductor':
        return cell === TOP ? this.#startTopConductor(member) : this.startConductor(member, CONDUCTOR, SCHEDULER);
      case 'agent': {
        const host = name.slice(`${cell}-agent-`.length);
        const machine = this.machines.get(`${cell}-${host}`) as Machine;
        return startComputeAgent({
          ...this.around(member.process),
          bus: member.bus,
          config: { ...readConfig(agentOptions, { ...AGENT, ...its }), host, hosts: 1 },
          driver: async () => machine.driver(member.process),
          journal: async () => machine.journal(),
        });
      }
      default:
        return undefined;
    }
  }

  async #startTopScheduler(member: Member): Promise<Running> {
    const { process, bus, stores } = member;
    const { placement } = stores;
    const around = { ...this.around(process), clock: await this.clockByStore(member) };
    member.mirror = await Mirror.open(placement, around);
    const config = readConfig(topSchedulerOptions, TOP_SCHEDULER);
    const open = this.#cellBusesOf(member);
    const links = CELLS.map((cell) => new CellLink(cell, async () => open(cell), around));
    return startTopScheduler({
      ...around,
      bus,
      cells: this.#cellStates,
      placement,
      mirror: member.mirror,
      links,
      config,
    });
  }

  async #startTopConductor(member: Member): Promise<Running> {
    const { process, bus, stores } = member;
    const around = { ...this.around(process), clock: await this.clockByStore(member) };
    const config = readConfig(topConductorOptions, TOP_CONDUCTOR);
    const open = this.#cellBusesOf(member);
    return startTopConductor({ ...around, ...stores, bus, config, cells: CELLS, openCell: async (cell) => open(cell) });
  }

  #cellBusesOf(member: Member): (cell: string) => SimulatedBus {
    const buses = new Map<string, SimulatedBus>();
    for (const cell of CELLS) {
      const link = this.linkTo(`cell ${cell}`, member.process);
      member.links.push(link);
      buses.set(cell, new SimulatedBus(link, this.serversOfCell(cell).broker));
    }
    this.#cellBuses.set(member, [...buses.values()]);
    return (cell) => buses.get(cell) as SimulatedBus;
  }

  protected override end(member: Member): void {
    super.end(member);
    for (const bus of this.#cellBuses.get(member) ?? []) bus.endSession();
    this.#cellBuses.delete(member);
  }

  #openServers(cell: string): Servers {
    return this.openServers((of) => this.openSession(userOfProcess(of), cell), undefined, cell === TOP);
  }

  #machineEvent(event: MachineEvent): void {
    const { machine, uuid, kind } = event;
    this.note(machine, `${uuid} ${kind}`);
    this.onMachineEvent(event);
  }
}

/** The cell, or the top, of a process or a machine. */
export function cellOf(name: string): string {
  return name.split('-')[0] ?? '';
}

function kindOf(name: string): string {
  return name.split('-')[1] ?? '';
}

/** The broker's user of a process: its service in its own cell, for every connection. */
function userOfProcess(name: string): string {
  const cell = cellOf(name);
  switch (kindOf(name)) {
    case 'tenant':
      return userOf({ kind: 'project', projectId: name.slice(cell.length + 1) }, cell);
    case 'agent':
      return userOf({ kind: 'agent', host: name.slice(`${cell}-agent-`.length), carriesOthers: false }, cell);
    case 'operator':
      return inCell(cell, 'operator');
    default:
      return inCell(cell, kindOf(name));
  }
}
