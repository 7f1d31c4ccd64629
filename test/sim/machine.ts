import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { type Inventories, inventory, type Resources } from '#libs/domain/inventory';
import type { SimulatedProcess } from '#libs/simulation/simulated-process';
import type { Driver, InstanceToBuild, RunningWorkload } from '../../services/compute-agent/drivers/driver';
import type { Journal } from '../../services/compute-agent/host/journal';
import type { TrackedInstance } from '../../services/compute-agent/host/ledger';

/** What somebody did to a machine, for those who check it. */
export interface MachineEvent {
  readonly kind: 'begins' | 'built' | 'destroyed' | 'exited';
  readonly machine: string;
  readonly uuid: string;
}

/** How long a build takes at most, and which share of them fails. */
const BUILD_MS = 900;
const FAILURE_SHARE = 0.15;

/**
 * The hardware of one host: what runs on it, and its disk. It outlives the agent's process, as processes and disks do.
 */
export class Machine {
  readonly running = new Map<string, RunningWorkload>();
  building: ReadonlyMap<string, Resources> = new Map();
  readonly disk = new Map<string, TrackedInstance>();
  inventories: Inventories = {};

  constructor(
    /** The name of its host; two machines of one name are told apart by an ending. */
    readonly name: string,
    private readonly vcpus: number,
    private readonly onEvent: (event: MachineEvent) => void,
  ) {
    this.resize(1);
  }

  /** Has only a share of what it is built with. */
  resize(share: number): void {
    const vcpus = Math.floor(this.vcpus * share);
    this.inventories = { VCPU: inventory(vcpus), MEMORY_MB: inventory(vcpus * 1_024) };
  }

  /** A driver for one run of the agent. */
  driver({ clock, random }: SimulatedProcess): Driver {
    const { name: machine, running } = this;
    // What an earlier run was building is gone with it.
    const building = new Map<string, Resources>();
    this.building = building;
    return {
      capacity: () => ({ inventories: this.inventories, traits: [], capabilities: {} }),
      build: async (instance: InstanceToBuild, signal: AbortSignal) => {
        const fails = random.next() < FAILURE_SHARE;
        building.set(instance.uuid, instance.resources);
        this.onEvent({ kind: 'begins', machine, uuid: instance.uuid });
        await sleep(clock, random.next() * BUILD_MS, signal);
        building.delete(instance.uuid);
        if (signal.aborted) throw new BerthError('aborted', 'cancelled', 'the build was cancelled');
        if (fails) throw new BerthError('internal', 'driver_failed', 'this build was made to fail');
        running.set(instance.uuid, { id: instance.uuid, resources: instance.resources });
        this.onEvent({ kind: 'built', machine, uuid: instance.uuid });
      },
      destroy: async (uuid) => {
        if (running.delete(uuid)) this.onEvent({ kind: 'destroyed', machine, uuid });
      },
      list: async () => [...running.values()],
      onExit: (listener) => {
        this.#exited = listener;
      },
      close: async () => {},
    };
  }

  #exited: (uuid: string, why: string) => void = () => {};

  #disabled: Awaited<ReturnType<Journal['loadDisabled']>>;

  journal(): Journal {
    return {
      load: async () => [...this.disk.values()],
      loadDisabled: async () => this.#disabled,
      putDisabled: async (disabled) => {
        this.#disabled = disabled;
      },
      put: async (instance) => {
        this.disk.set(instance.uuid, instance);
      },
      remove: async (uuid) => {
        this.disk.delete(uuid);
      },
    };
  }

  /** An instance stops by itself. */
  exit(uuid: string): void {
    if (!this.running.delete(uuid)) return;
    this.onEvent({ kind: 'exited', machine: this.name, uuid });
    this.#exited(uuid, 'exit code 1');
  }

  /** The machine is new, or booted again from another disk, empty unless given: nothing runs. */
  replace(disk: ReadonlyMap<string, TrackedInstance> = new Map()): void {
    for (const uuid of this.running.keys()) this.onEvent({ kind: 'exited', machine: this.name, uuid });
    this.running.clear();
    this.disk.clear();
    for (const [uuid, instance] of disk) this.disk.set(uuid, instance);
    this.#disabled = undefined;
  }
}
