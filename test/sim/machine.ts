import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { type Inventories, inventory } from '#libs/domain/inventory';
import type { SimulatedProcess } from '#libs/simulation/simulated-process';
import type { TrackedInstance } from '#services/compute-agent/host/tracked-instance';
import type {
  Driver,
  DriverMoves,
  HostCapacity,
  InstanceToBuild,
  RunningWorkload,
} from '../../services/compute-agent/drivers/driver';
import type { Journal } from '../../services/compute-agent/host/journal';
import { memoryJournal } from '../../services/compute-agent/memory-journal';

/** What somebody did to a machine, for those who check it. */
export interface MachineEvent {
  readonly kind: 'begins' | 'built' | 'destroyed' | 'exited' | 'stopped' | 'started';
  readonly machine: string;
  readonly uuid: string;
}

/** How long it takes at most to stop, or to start again. */
const POWER_MS = 300;
/** How long a build takes at most, and which share of them fails. */
const BUILD_MS = 900;
const FAILURE_SHARE = 0.15;

/** What an instance uses of a machine, by the names of its providers. */
export type Use = InstanceToBuild['claimed'];

export interface Workload extends RunningWorkload {
  readonly use: Use;
}

/** All on the host itself; or on two NUMA nodes with half of the VCPUs each, with a device below one of them. */
export type Shape = 'flat' | 'tree';

/** What may go, come back and move below another on a machine that is a tree. */
export const PARTS = ['numa0', 'numa1', 'gpu'] as const;

/**
 * The hardware of one host: what runs on it, and its disk. It outlives the agent's process, as processes and disks do.
 */
export class Machine {
  readonly running = new Map<string, Workload>();
  /** What does not run and is kept. */
  readonly stopped = new Map<string, Workload>();
  building: ReadonlyMap<string, Use> = new Map();
  readonly #journal = memoryJournal();
  /** All that was ever on its disk, as it was last: an agent that means harm keeps it. */
  readonly remembered = new Map<string, TrackedInstance>();
  readonly #takenOut = new Set<string>();
  #gpuAt = 'numa0';
  #share = 1;

  constructor(
    /** The name of its host; two machines of one name are told apart by an ending. */
    readonly name: string,
    private readonly vcpus: number,
    readonly shape: Shape,
    private readonly onEvent: (event: MachineEvent) => void,
  ) {}

  /** The instances in its journal. */
  get disk(): ReadonlyMap<string, TrackedInstance> {
    return this.#journal.instances;
  }

  /** What it has now. */
  capacity(): HostCapacity {
    const vcpus = Math.floor(this.vcpus * this.#share);
    const MEMORY_MB = inventory(vcpus * 1_024);
    const rest = { traits: [], capabilities: {} };
    if (this.shape === 'flat') return { inventories: { VCPU: inventory(vcpus), MEMORY_MB }, nested: [], ...rest };
    const node = (name: string) => ({ name, parent: '', inventories: { VCPU: inventory(vcpus / 2) }, traits: [] });
    const parent = this.#takenOut.has(this.#gpuAt) ? '' : this.#gpuAt;
    const gpu = { name: 'gpu', parent, inventories: { VGPU: inventory(1) }, traits: [] };
    const nested = [node('numa0'), node('numa1'), gpu].filter(({ name }) => !this.#takenOut.has(name));
    return { inventories: { MEMORY_MB }, nested, ...rest };
  }

  /** Of one of its providers; undefined when it is not there. */
  inventoriesOf(part: string): Inventories | undefined {
    const { inventories, nested } = this.capacity();
    return part === '' ? inventories : nested.find(({ name }) => name === part)?.inventories;
  }

  /** Has only a share of what it is built with. */
  resize(share: number): void {
    this.#share = share;
  }

  takeOut(part: string): void {
    this.#takenOut.add(part);
  }

  putBack(part: string): void {
    this.#takenOut.delete(part);
  }

  /** The device is below another node. */
  moveGpu(): void {
    this.#gpuAt = this.#gpuAt === 'numa0' ? 'numa1' : 'numa0';
  }

  /** A driver for one run of the agent. */
  driver({ clock, random }: SimulatedProcess): Driver & { readonly moves: DriverMoves } {
    const { name: machine, running, stopped } = this;
    // What an earlier run was building is gone with it.
    const building = new Map<string, Use>();
    this.building = building;
    const driver: Driver & { readonly moves: DriverMoves } = {
      capacity: () => this.capacity(),
      build: async (instance: InstanceToBuild, signal: AbortSignal) => {
        const fails = random.next() < FAILURE_SHARE;
        // A conductor that can not open what was sealed says nothing of providers: then all is the root's.
        const isSaid = Object.keys(instance.claimed).length > 0;
        const use = isSaid ? instance.claimed : { '': instance.resources };
        building.set(instance.uuid, use);
        this.onEvent({ kind: 'begins', machine, uuid: instance.uuid });
        await sleep(clock, random.next() * BUILD_MS, signal);
        building.delete(instance.uuid);
        if (signal.aborted) throw new BerthError('aborted', 'cancelled', 'the build was cancelled');
        if (fails) throw new BerthError('internal', 'driver_failed', 'this build was made to fail');
        const kept = instance.powerState === 'shutdown' ? stopped : running;
        kept.set(instance.uuid, { id: instance.uuid, resources: instance.resources, use });
        this.onEvent({ kind: 'built', machine, uuid: instance.uuid });
      },
      stop: async (uuid) => {
        const workload = running.get(uuid);
        await sleep(clock, random.next() * POWER_MS);
        if (workload === undefined) return;
        // If it stopped by itself meanwhile, it is stopped, and kept.
        running.delete(uuid);
        stopped.set(uuid, workload);
        this.onEvent({ kind: 'stopped', machine, uuid });
      },
      start: async (uuid) => {
        await sleep(clock, random.next() * POWER_MS);
        const workload = stopped.get(uuid);
        if (random.next() < FAILURE_SHARE)
          throw new BerthError('internal', 'driver_failed', 'this start was made to fail');
        if (running.has(uuid)) return;
        if (workload === undefined) throw new BerthError('failed_precondition', 'not_startable', `${uuid} is not kept`);
        stopped.delete(uuid);
        running.set(uuid, workload);
        this.onEvent({ kind: 'started', machine, uuid });
      },
      destroy: async (uuid) => {
        const wasKept = stopped.delete(uuid);
        if (running.delete(uuid) || wasKept) this.onEvent({ kind: 'destroyed', machine, uuid });
      },
      moves: {
        handOver: async (uuid) => {
          await sleep(clock, random.next() * POWER_MS);
          const workload = running.get(uuid);
          if (workload && random.next() < FAILURE_SHARE) {
            throw new BerthError('internal', 'driver_failed', 'this move was made to fail');
          }
          if (workload && running.delete(uuid)) {
            stopped.set(uuid, workload);
            this.onEvent({ kind: 'stopped', machine, uuid });
          }
          return Buffer.from(uuid);
        },
        arrive: (instance, handover, signal) => {
          if (handover.toString() === instance.uuid) return driver.build(instance, signal);
          throw new BerthError('internal', 'nothing_handed_over', `what ${instance.uuid} needs did not arrive`);
        },
        resize: async (instance) => {
          const { uuid, resources } = instance;
          await sleep(clock, random.next() * POWER_MS);
          const before = running.get(uuid) ?? stopped.get(uuid);
          if (before === undefined) throw new BerthError('failed_precondition', 'not_startable', `${uuid} is not kept`);
          if (random.next() < FAILURE_SHARE) {
            throw new BerthError('internal', 'driver_failed', 'this resize was made to fail');
          }
          running.delete(uuid);
          const use = Object.keys(instance.claimed).length > 0 ? instance.claimed : { '': resources };
          building.set(uuid, use);
          this.onEvent({ kind: 'begins', machine, uuid });
          building.delete(uuid);
          stopped.delete(uuid);
          const runs = instance.powerState !== 'shutdown';
          (runs ? running : stopped).set(uuid, { id: uuid, resources, use });
          this.onEvent({ kind: runs ? 'started' : 'stopped', machine, uuid });
        },
      },
      list: async () => [...running.values()],
      onExit: (listener) => {
        this.#exited = listener;
      },
      close: async () => {},
    };
    return driver;
  }

  #exited: (uuid: string, why: string) => void = () => {};

  journal(): Journal {
    return {
      ...this.#journal,
      put: (instance) => {
        this.remembered.set(instance.uuid, instance);
        return this.#journal.put(instance);
      },
    };
  }

  /** An instance stops by itself; one that was being stopped is kept, whether its agent lives or not. */
  exit(uuid: string): void {
    const workload = this.running.get(uuid);
    if (workload === undefined) return;
    this.running.delete(uuid);
    if (this.disk.get(uuid)?.state === 'stopping') this.stopped.set(uuid, workload);
    this.onEvent({ kind: 'exited', machine: this.name, uuid });
    this.#exited(uuid, 'exit code 1');
  }

  /** The machine is new, or booted again from another disk, empty unless given: nothing runs, and what is kept is on the disk. */
  replace(disk: ReadonlyMap<string, TrackedInstance> = new Map()): void {
    for (const uuid of this.running.keys()) this.onEvent({ kind: 'exited', machine: this.name, uuid });
    const before = new Map([...this.running, ...this.stopped]);
    this.running.clear();
    this.stopped.clear();
    this.#journal.replace([...disk.values()]);
    for (const [uuid, instance] of disk) {
      const { state, resources } = instance;
      if (state === 'stopped' || state === 'stopping') {
        this.stopped.set(uuid, before.get(uuid) ?? { id: uuid, resources, use: { '': resources } });
      }
    }
  }
}
