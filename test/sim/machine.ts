import { sleep } from '#libs/domain/clock';
import { type Device, deviceInventories } from '#libs/domain/devices/device';
import { BerthError } from '#libs/domain/errors';
import { type Inventories, inventory } from '#libs/domain/inventory';
import type { SimulatedProcess } from '#libs/simulation/simulated-process';
import type { TrackedInstance } from '#services/compute-agent/host/tracked-instance';
import type {
  Driver,
  DriverMoves,
  HostCapacity,
  InstanceToBuild,
  NestedCapacity,
  RunningWorkload,
} from '../../services/compute-agent/drivers/driver';
import type { Journal } from '../../services/compute-agent/host/journal';
import { memoryJournal } from '../../services/compute-agent/memory-journal';

/** An event on a machine, for its checkers. */
export interface MachineEvent {
  readonly kind: 'begins' | 'built' | 'destroyed' | 'exited' | 'stopped' | 'started';
  readonly machine: string;
  readonly uuid: string;
}

/** Longest time of a stop or a start. */
const POWER_MS = 300;
/** Longest time of a build, and the share of builds that fail. */
const BUILD_MS = 900;
const FAILURE_SHARE = 0.15;

/** An instance's use of a machine, by the names of its providers. */
export type Use = InstanceToBuild['claimed'];

export interface Workload extends RunningWorkload {
  readonly use: Use;
}

/** `flat`: everything on the host itself; `tree`: two NUMA nodes with half of the VCPUs each, one with a device below it. */
export type Shape = 'flat' | 'tree';

/** Providers of a tree that may disappear, come back and move. */
export const PARTS = ['numa0', 'numa1', 'gpu'] as const;

/** The devices of a tree: two parts of a card and the whole card, which take of the card's counters. */
const CARD = { part0: 1, part1: 1, whole: 2 } as const;
export type DeviceName = keyof typeof CARD;
export const DEVICE_NAMES = Object.keys(CARD) as readonly DeviceName[];
const SLICE = 'CUSTOM_SLICE';
/** The key of a taint of devices. */
export const WORN = 'worn';

/** The hardware of one host: its workloads and its disk. It outlives the agent's process, as on a real host. */
export class Machine {
  readonly running = new Map<string, Workload>();
  /** Workloads that were stopped and are kept. */
  readonly stopped = new Map<string, Workload>();
  building: ReadonlyMap<string, Use> = new Map();
  readonly #journal = memoryJournal();
  /** The last journal entry of every instance it ever had: a malicious agent keeps them. */
  readonly remembered = new Map<string, TrackedInstance>();
  readonly #takenOut = new Set<string>();
  /** Devices with a taint, and whether it moves away who has them. */
  readonly #worn = new Map<DeviceName, boolean>();
  /** Share of its builds that fail. */
  failureShare = FAILURE_SHARE;
  #gpuAt = 'numa0';
  #share = 1;

  constructor(
    /** The name of its host; a second machine of that name has an ending. */
    readonly name: string,
    private readonly vcpus: number,
    readonly shape: Shape,
    private readonly onEvent: (event: MachineEvent) => void,
  ) {}

  /** The instances in its journal. */
  get disk(): ReadonlyMap<string, TrackedInstance> {
    return this.#journal.instances;
  }

  /** Its present capacity. */
  capacity(): HostCapacity {
    const vcpus = Math.floor(this.vcpus * this.#share);
    const MEMORY_MB = inventory(vcpus * 1_024);
    const rest = { traits: [], capabilities: {} };
    if (this.shape === 'flat') return { inventories: { VCPU: inventory(vcpus), MEMORY_MB }, nested: [], ...rest };
    const node = (name: string) => ({ name, parent: '', inventories: { VCPU: inventory(vcpus / 2) }, traits: [] });
    const parent = this.#takenOut.has(this.#gpuAt) ? '' : this.#gpuAt;
    const gpu = { name: 'gpu', parent, inventories: { VGPU: inventory(1) }, traits: [] };
    const card = { name: 'card', parent: '', inventories: { [SLICE]: inventory(2) }, traits: [] };
    const devices = DEVICE_NAMES.map((device) => this.#device(device));
    const nested = [node('numa0'), node('numa1'), gpu, card, ...devices].filter(
      ({ name }) => !this.#takenOut.has(name),
    );
    return { inventories: { MEMORY_MB }, nested, ...rest };
  }

  #device(name: DeviceName): NestedCapacity {
    const size = CARD[name];
    const device: Device = {
      attributes: { size: { kind: 'int', value: size } },
      capacity: {},
      consumers: 1,
      taints: this.#worn.has(name) ? { [WORN]: 'yes' } : {},
      ...(this.#worn.get(name) ? { evicts: { [WORN]: 0 } } : {}),
      consumes: { [SLICE]: size },
    };
    return { name, parent: 'card', inventories: deviceInventories(device), traits: [], device };
  }

  /** A device has a taint from now on, or none; `evicts`: who has it is moved away. */
  wear(device: DeviceName, isWorn: boolean, evicts = false): void {
    if (isWorn) this.#worn.set(device, evicts);
    else this.#worn.delete(device);
  }

  /** Inventories of one of its providers; undefined when that is absent. */
  inventoriesOf(part: string): Inventories | undefined {
    const { inventories, nested } = this.capacity();
    return part === '' ? inventories : nested.find(({ name }) => name === part)?.inventories;
  }

  /** Shrinks it to a share of its capacity. */
  resize(share: number): void {
    this.#share = share;
  }

  takeOut(part: string): void {
    this.#takenOut.add(part);
  }

  putBack(part: string): void {
    this.#takenOut.delete(part);
  }

  /** Moves the device below the other node. */
  moveGpu(): void {
    this.#gpuAt = this.#gpuAt === 'numa0' ? 'numa1' : 'numa0';
  }

  /** A driver for one run of the agent. */
  driver({ clock, random }: SimulatedProcess): Driver & { readonly moves: DriverMoves } {
    const { name: machine, running, stopped } = this;
    // Builds of an earlier run are gone with it.
    const building = new Map<string, Use>();
    this.building = building;
    const driver: Driver & { readonly moves: DriverMoves } = {
      capacity: () => this.capacity(),
      build: async (instance: InstanceToBuild, signal: AbortSignal) => {
        const fails = random.next() < this.failureShare;
        // A conductor that can't open the sealed request names no providers: everything is claimed on the root.
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
        // It is stopped and kept even if it has exited meanwhile.
        running.delete(uuid);
        stopped.set(uuid, workload);
        this.onEvent({ kind: 'stopped', machine, uuid });
      },
      start: async (uuid, fence) => {
        await sleep(clock, random.next() * POWER_MS);
        fence?.();
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
        resize: async (instance, fence) => {
          const { uuid, resources } = instance;
          await sleep(clock, random.next() * POWER_MS);
          fence?.();
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

  /** An instance exits by itself; one that was being stopped is kept, whether its agent lives or not. */
  exit(uuid: string): void {
    const workload = this.running.get(uuid);
    if (workload === undefined) return;
    this.running.delete(uuid);
    if (this.disk.get(uuid)?.state === 'stopping') this.stopped.set(uuid, workload);
    this.onEvent({ kind: 'exited', machine: this.name, uuid });
    this.#exited(uuid, 'exit code 1');
  }

  /** The machine is replaced, or boots from another disk, empty by default: nothing runs, and the disk holds the journal. */
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
