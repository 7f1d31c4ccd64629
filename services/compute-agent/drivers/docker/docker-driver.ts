import { isDeepStrictEqual } from 'node:util';
import type Docker from 'dockerode';
import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { type Inventories, inventory } from '#libs/domain/inventory';
import type { RuntimeDeps } from '#libs/runtime/service';
import {
  type Driver,
  type DriverMoves,
  type HostCapacity,
  type InstanceToBuild,
  liveMigrationUnsupported,
  type RunningWorkload,
} from '../driver';
import type { Fence } from '../fenced';
import { type CoreAssignments, type CoreSets, createCoreAssignments } from '../process/cores';
import { machineTraits } from '../process/machine';
import { capacityWith, type MachineHost, type MachineTree, machineTree, SYS, withNamed } from '../process/machine-tree';
import { placeOf } from '../process/placing';
import {
  type ContainerFacts,
  type ContainerPlace,
  containerOptions,
  type EngineHost,
  factsOf,
  LABELS,
  madeWith,
  updateTo,
} from './container-options';
import { Containers, notStartable } from './containers';
import { type DeviceFiles, parseDeviceFiles, presentProviders } from './device-files';
import type { DockerConfig } from './docker-options';
import { type Engine, engineAt, type MachineInfo } from './engine';
import { engineError } from './engine-error';
import { type ExternalContainers, externalContainers } from './external-containers';
import { hearEnds } from './hear-ends';
import { imageFor } from './image-policy';

/** The host of a docker driver. Without inventories it has the resources of the engine's machine. */
export interface DockerHost extends MachineHost, EngineHost {}

/**
 * A driver whose instances are containers of a Docker engine on this machine: limited to their allocation by cgroups,
 * running on when the agent stops or is killed, and found again by their labels.
 *
 * @throws BerthError `unavailable / engine` when the engine does not answer.
 */
export async function openDockerDriver(host: DockerHost, config: DockerConfig, around: RuntimeDeps): Promise<Driver> {
  const docker = engineAt(config.dockerSocket);
  const info = await docker.info().catch((thrown: unknown) => {
    throw engineError(thrown);
  });
  const { sys = SYS, capacity } = host;
  const traits = [...new Set([...capacity.traits, ...(await machineTraits(sys, coresOf(info), false))])];
  const driver = new DockerDriver({ docker, info }, { ...host, capacity: { ...capacity, traits } }, config, around);
  await driver.look();
  await driver.adopt();
  return driver;
}

interface Entry {
  facts: ContainerFacts;
  isRunning: boolean;
  /** True while the agent starts, stops or removes it: its end is no exit then. */
  isChanging: boolean;
}

class DockerDriver implements Driver {
  readonly docker: Engine;
  readonly #entries = new Map<string, Entry>();
  readonly #containers: Containers;
  readonly #cores: CoreSets;
  readonly #assignments: CoreAssignments;
  readonly #external: ExternalContainers;
  readonly #deviceFiles: DeviceFiles;
  readonly #inventories: Inventories;
  readonly #closing = new AbortController();
  #tree: MachineTree = NO_TREE;
  #capacity: HostCapacity;
  #onExit: (uuid: string, why: string) => void = () => {};

  constructor(
    { docker, info }: { readonly docker: Engine; readonly info: MachineInfo },
    readonly host: DockerHost,
    readonly config: DockerConfig,
    readonly around: RuntimeDeps,
  ) {
    this.docker = docker;
    const { capacity } = host;
    this.#containers = new Containers(docker, host, config);
    this.#cores = coresOf(info);
    this.#assignments = createCoreAssignments(this.#cores);
    this.#external = externalContainers(docker, host.cell, this.#cores.shared);
    this.#deviceFiles = parseDeviceFiles(config.dockerDevices);
    this.#inventories = capacity.inventories ?? engineInventories(info);
    this.#capacity = { ...capacity, inventories: this.#inventories, nested: capacity.nested ?? [] };
  }

  capacity(): HostCapacity {
    return this.#capacity;
  }

  onExit(listener: (uuid: string, why: string) => void): void {
    this.#onExit = listener;
  }

  /** Reads the machine's present resources: devices and their files come and go. A flat host is not read. */
  async look(): Promise<void> {
    const { sys = SYS, capacity } = this.host;
    if (capacity.nested?.length === 0) return;
    this.#tree = withNamed(await machineTree(sys, this.#cores), capacity.nested);
    const found = capacityWith(this.#tree, capacity, this.#inventories);
    const nested = await presentProviders(found.nested, this.#deviceFiles);
    if (!isDeepStrictEqual(nested, this.#capacity.nested)) this.#capacity = { ...found, nested };
  }

  /** Finds the containers of earlier runs. */
  async adopt(): Promise<void> {
    const found = await this.#containers.list();
    await this.#containers.settle(found);
    // A container in replacement is listed twice.
    const uuids = new Set(found.map(({ Labels }) => Labels[LABELS.instance] ?? ''));
    await Promise.all([...uuids].map((uuid) => this.#adoptOne(uuid)));
    const running = [...this.#entries.values()].filter(({ isRunning }) => isRunning).length;
    const counts = { containers: this.#entries.size, running };
    this.around.log.debug({ event: 'containers_adopted', ...counts }, 'adopted containers by their labels');
    const { docker, around } = this;
    const listener = { onListening: () => this.#lookForEnded(), onEnd: (uuid: string) => this.#endUnlessRunning(uuid) };
    void hearEnds({ docker, around, host: this.host }, listener, this.#closing.signal);
  }

  async #adoptOne(uuid: string): Promise<void> {
    const container = await this.#containers.inspect(uuid);
    if (container === undefined) return;
    const facts = factsOf(container, this.#cores.shared);
    this.#entries.set(uuid, { facts, isRunning: container.State.Running, isChanging: false });
    this.#assignments.restore(uuid, facts.cores);
  }

  async build(instance: InstanceToBuild, signal: AbortSignal): Promise<void> {
    const { uuid, requestSpec } = instance;
    const image = imageFor(requestSpec, this.config);
    // An earlier run may have left it half built.
    await this.destroy(uuid);
    const place = this.#placeFor(instance);
    try {
      await this.#containers.create(this.#optionsOf(instance, image, place), signal);
      if (instance.powerState !== 'shutdown') await this.#run(uuid, signal);
    } catch (thrown) {
      await this.destroy(uuid);
      throw signal.aborted ? cancelled() : thrown;
    }
  }

  async destroy(uuid: string): Promise<void> {
    await this.stop(uuid);
    await this.#containers.remove(uuid);
    this.#entries.delete(uuid);
    this.#assignments.release(uuid);
  }

  /** Stops a container and keeps it with its data. */
  async stop(uuid: string): Promise<void> {
    const entry = this.#entries.get(uuid);
    if (entry) entry.isChanging = true;
    await this.#containers.stop(uuid);
    if (entry) entry.isRunning = false;
  }

  async start(uuid: string, fence?: Fence): Promise<void> {
    if (this.#entries.get(uuid)?.isRunning) return;
    try {
      await this.#run(uuid, NEVER, fence);
    } catch (thrown) {
      await this.stop(uuid);
      throw thrown;
    }
  }

  /**
   * A move carries nothing over: the container starts anew from its image on the other host. In place it keeps its
   * data.
   */
  readonly moves: DriverMoves = {
    handOver: async (uuid, isLive) => {
      if (isLive) throw liveMigrationUnsupported('a container');
      await this.#stopToMove(uuid);
      return new Uint8Array();
    },
    arrive: (instance, _handover, signal) => this.build(instance, signal),
    resize: (instance, fence) => this.#resize(instance, fence),
  };

  /** A container that could not be stopped keeps running, and its end is an exit again. */
  async #stopToMove(uuid: string): Promise<void> {
    try {
      await this.stop(uuid);
    } catch (thrown) {
      const entry = this.#entries.get(uuid);
      if (entry) entry.isChanging = false;
      throw thrown;
    }
  }

  /**
   * In place where the engine supports it: cores, NUMA nodes and memory. Else by another container with the same
   * content.
   */
  async #resize(instance: InstanceToBuild, fence?: Fence): Promise<void> {
    const { uuid } = instance;
    const present = await this.#containers.inspect(uuid);
    const before = this.#entries.get(uuid);
    if (present === undefined || before === undefined) throw notStartable(uuid);
    const { isRunning, facts } = before;
    try {
      const place = this.#placeFor(instance);
      const options = this.#optionsOf(instance, present.Config.Image, place);
      const update = updateTo(present, options, this.#cores.shared);
      if (update) {
        await this.#containers.update(uuid, update);
        this.#entries.set(uuid, { facts: madeWith(instance, place), isRunning, isChanging: false });
      } else {
        before.isChanging = true;
        await this.#containers.replace(uuid, options);
      }
    } catch (thrown) {
      this.#entries.set(uuid, { ...before, facts });
      this.#assignments.restore(uuid, facts.cores);
      throw thrown;
    }
    await (instance.powerState === 'shutdown' ? this.stop(uuid) : this.start(uuid, fence));
  }

  async list(): Promise<readonly RunningWorkload[]> {
    await this.look();
    const own = [...this.#entries].filter(([, { isRunning }]) => isRunning);
    const workloads = own.map(([id, { facts }]) => {
      const { projectId, resources } = facts;
      return { id, projectId, resources };
    });
    return [...workloads, ...(await this.#external.list())];
  }

  async close(): Promise<void> {
    this.#closing.abort();
  }

  /** Assigns cores, nodes and devices to an instance. */
  #placeFor(instance: InstanceToBuild): ContainerPlace {
    const { uuid } = instance;
    const wanted = placeOf(instance, this.#tree, this.#cores, this.#takenDevices(uuid));
    const place = { ...wanted, cores: this.#assignments.assign(uuid, wanted.cores).cores };
    this.#entries.set(uuid, { facts: madeWith(instance, place), isRunning: false, isChanging: true });
    return place;
  }

  #optionsOf(instance: InstanceToBuild, image: string, place: ContainerPlace): Docker.ContainerCreateOptions {
    const { dockerNetwork: network } = this.config;
    return containerOptions(instance, { host: this.host, image, network, place, deviceFiles: this.#deviceFiles });
  }

  /** Starts a container and watches it: one that ends at once counts as not started. */
  async #run(uuid: string, signal: AbortSignal, fence?: Fence): Promise<void> {
    fence?.();
    await this.#containers.start(uuid, signal);
    await sleep(this.around.clock, this.config.dockerStartMs, signal);
    if (signal.aborted) throw cancelled();
    // From here on its end is an event; an earlier end is found by the inspection below.
    const entry = this.#entries.get(uuid);
    if (entry) Object.assign(entry, { isRunning: true, isChanging: false });
    const { State } = (await this.#containers.inspect(uuid)) ?? {};
    if (State?.Running) return;
    // A handler of its end may have removed the entry meanwhile.
    if (entry) this.#entries.set(uuid, { ...entry, isRunning: false, isChanging: true });
    const how = State ? `with exit code ${State.ExitCode}${State.Error && `: ${State.Error}`}` : 'and was removed';
    throw new BerthError('failed_precondition', 'ended_at_once', `the container ended at once, ${how}`);
  }

  #takenDevices(but: string): ReadonlySet<string> {
    const others = [...this.#entries].filter(([uuid]) => uuid !== but);
    return new Set(others.flatMap(([, { facts }]) => facts.devices));
  }

  /** Finds containers that ended while events were missed. */
  async #lookForEnded(): Promise<void> {
    for (const [uuid, { isRunning }] of this.#entries) if (isRunning) await this.#endUnlessRunning(uuid);
  }

  /** After a restart of a container, the event of its earlier end may still arrive. */
  async #endUnlessRunning(uuid: string): Promise<void> {
    const entry = this.#entries.get(uuid);
    if (!entry?.isRunning || entry.isChanging) return;
    const container = await this.#containers.inspect(uuid);
    const isPresent = this.#entries.get(uuid) === entry && entry.isRunning && !entry.isChanging;
    if (container?.State.Running || !isPresent || this.#closing.signal.aborted) return;
    this.#entries.delete(uuid);
    this.#assignments.release(uuid);
    const how = container ? `ended with exit code ${container.State.ExitCode}` : 'was removed';
    this.#onExit(uuid, `its container ${how}`);
  }
}

const NEVER = new AbortController().signal;
const NO_TREE: MachineTree = { nested: [], nodes: new Map(), devices: new Map() };

function cancelled(): BerthError {
  return new BerthError('aborted', 'cancelled', 'the build was cancelled');
}

/** All are shared: the engine's containers have none to themselves. */
function coresOf({ NCPU }: MachineInfo): CoreSets {
  return { shared: Array.from({ length: NCPU }, (_, cpu) => cpu), dedicated: [] };
}

function engineInventories({ NCPU, MemTotal }: MachineInfo): Inventories {
  return { VCPU: inventory(NCPU), MEMORY_MB: inventory(Math.floor(MemTotal / 2 ** 20)) };
}
