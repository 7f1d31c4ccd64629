import type { Readable } from 'node:stream';
import Docker from 'dockerode';
import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { type Inventories, inventory } from '#libs/domain/inventory';
import { backoffMs } from '#libs/runtime/backoff';
import type { ConfigOf } from '#libs/runtime/config';
import type { Surroundings } from '#libs/runtime/service';
import type { Driver, HostCapacity, InstanceToBuild, NestedCapacity, RunningWorkload } from '../driver';
import { type CoreAssignments, type CoreSets, createCoreAssignments } from '../process/cores';
import { type MachineTree, machineTree, withoutNodes } from '../process/machine-tree';
import { placeOf } from '../process/placing';
import {
  type ContainerFacts,
  containerName,
  containerOptions,
  type DeviceFiles,
  LABELS,
  parseDeviceFiles,
} from './container-options';
import type { dockerDriverOptions } from './docker-options';
import { engineError, isGone, isUnchanged } from './engine-error';
import { type ExternalContainers, externalContainers } from './external-containers';
import { imageFor } from './image-policy';

export type DockerConfig = ConfigOf<typeof dockerDriverOptions>;

/** What the docker driver of a host is opened with. Without inventories it has what the engine's machine has. */
export interface DockerHost {
  readonly name: string;
  /** Without nested providers they are what the machine has. */
  readonly capacity: Omit<HostCapacity, 'inventories' | 'nested'> & {
    readonly inventories: Inventories | undefined;
    readonly nested: readonly NestedCapacity[] | undefined;
  };
}

/** Between two tries to hear of the engine's containers, when it went away. */
const RETRY = { firstMs: 200, maxMs: 5_000 };

/**
 * A driver whose instances are containers of a Docker engine on this machine: held to their allocation by cgroups, running
 * on when the agent stops or is killed, and found again by their labels.
 *
 * @throws BerthError `unavailable / engine` when the engine does not answer.
 */
export async function openDockerDriver(host: DockerHost, config: DockerConfig, around: Surroundings): Promise<Driver> {
  const docker = new Docker({ socketPath: config.dockerSocket });
  const info = await docker.info().catch((thrown: unknown) => {
    throw engineError(thrown);
  });
  const cores = { shared: Array.from({ length: info.NCPU }, (_, cpu) => cpu), dedicated: [] };
  const tree = await machineTree('/sys', cores);
  const { capacity } = host;
  const { inventories = engineInventories(info), nested } = capacity;
  const driver = new DockerDriver(docker, host.name, config, around, tree, cores, {
    ...capacity,
    inventories: nested === undefined ? withoutNodes(inventories, tree) : inventories,
    nested: nested ?? tree.nested,
  });
  await driver.adopt();
  return driver;
}

interface Entry extends ContainerFacts {
  isRunning: boolean;
  /** Stopped or removed by the agent: its end is no exit. */
  isEnding: boolean;
}

class DockerDriver implements Driver {
  readonly #entries = new Map<string, Entry>();
  readonly #assignments: CoreAssignments;
  readonly #external: ExternalContainers;
  readonly #deviceFiles: DeviceFiles;
  readonly #closing = new AbortController();
  #onExit: (uuid: string, why: string) => void = () => {};

  constructor(
    readonly docker: Docker,
    readonly host: string,
    readonly config: DockerConfig,
    readonly around: Surroundings,
    readonly tree: MachineTree,
    readonly cores: CoreSets,
    readonly hostCapacity: HostCapacity,
  ) {
    this.#assignments = createCoreAssignments(cores);
    this.#external = externalContainers(docker);
    this.#deviceFiles = parseDeviceFiles(config.dockerDevices);
  }

  capacity(): HostCapacity {
    return this.hostCapacity;
  }

  onExit(listener: (uuid: string, why: string) => void): void {
    this.#onExit = listener;
  }

  /** Finds the containers that earlier runs of the agent started. */
  async adopt(): Promise<void> {
    for (const { Labels, State } of await this.#containers()) {
      const uuid = Labels[LABELS.instance] ?? '';
      const facts = JSON.parse(Labels[LABELS.facts] ?? '{}') as ContainerFacts;
      this.#entries.set(uuid, { ...facts, isRunning: State === 'running', isEnding: false });
      this.#assignments.restore(uuid, facts.cores);
    }
    const running = [...this.#entries.values()].filter(({ isRunning }) => isRunning).length;
    const counts = { containers: this.#entries.size, running };
    this.around.log.debug({ event: 'containers_adopted', ...counts }, 'adopted containers by their labels');
    void this.#watch();
  }

  async build(instance: InstanceToBuild, signal: AbortSignal): Promise<void> {
    const { uuid, requestSpec, resources } = instance;
    const image = imageFor(requestSpec, this.config);
    // An earlier run may have left it half built.
    await this.destroy(uuid);
    const wanted = placeOf(instance, this.tree, this.cores, this.#takenDevices());
    const place = { ...wanted, cores: this.#assignments.assign(uuid, wanted.cores) };
    const facts = { resources, cores: place.cores, devices: place.devices };
    this.#entries.set(uuid, { ...facts, isRunning: false, isEnding: false });
    try {
      const settings = {
        host: this.host,
        image,
        network: this.config.dockerNetwork,
        place,
        deviceFiles: this.#deviceFiles,
      };
      const options = containerOptions(instance, settings);
      const container = await this.#create(options, signal);
      const isRunning = instance.powerState !== 'shutdown';
      if (isRunning) {
        await container.start({ abortSignal: signal });
        await this.#mustStay(container, signal);
      }
      this.#entries.set(uuid, { ...facts, isRunning, isEnding: false });
    } catch (thrown) {
      await this.destroy(uuid);
      throw signal.aborted ? new BerthError('aborted', 'cancelled', 'the build was cancelled') : engineError(thrown);
    }
  }

  async destroy(uuid: string): Promise<void> {
    await this.stop(uuid);
    await this.#unlessGone(this.docker.getContainer(containerName(uuid)).remove({ force: true, v: true }));
    this.#entries.delete(uuid);
    this.#assignments.release(uuid);
  }

  /** Stops a container and keeps it, with what it wrote. */
  async stop(uuid: string): Promise<void> {
    const entry = this.#entries.get(uuid);
    if (entry) entry.isEnding = true;
    const container = this.docker.getContainer(containerName(uuid));
    await this.#unlessGone(container.stop({ t: Math.ceil(this.config.dockerStopMs / 1_000) }));
    if (entry) entry.isRunning = false;
  }

  async start(uuid: string): Promise<void> {
    const entry = this.#entries.get(uuid);
    try {
      await this.docker.getContainer(containerName(uuid)).start();
    } catch (thrown) {
      if (!isUnchanged(thrown)) throw engineError(thrown);
    }
    if (entry) Object.assign(entry, { isRunning: true, isEnding: false });
  }

  async list(): Promise<readonly RunningWorkload[]> {
    const own = [...this.#entries].filter(([, { isRunning }]) => isRunning);
    return [...own.map(([id, { resources }]) => ({ id, resources })), ...(await this.#external.list())];
  }

  async close(): Promise<void> {
    this.#closing.abort();
  }

  #containers() {
    const label = [`${LABELS.host}=${this.host}`];
    return this.docker.listContainers({ all: true, filters: { label } }).catch((thrown: unknown) => {
      throw engineError(thrown);
    });
  }

  async #create(options: Docker.ContainerCreateOptions, signal: AbortSignal): Promise<Docker.Container> {
    try {
      return await this.docker.createContainer({ ...options, abortSignal: signal });
    } catch (thrown) {
      if (!isGone(thrown) || this.config.dockerPull === 'never') throw thrown;
    }
    await this.#pull(options.Image ?? '');
    return this.docker.createContainer({ ...options, abortSignal: signal });
  }

  async #pull(image: string): Promise<void> {
    const progress = await this.docker.pull(image);
    await new Promise<void>((resolve, reject) => {
      this.docker.modem.followProgress(progress, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** A container that ends at once has failed to build. */
  async #mustStay(container: Docker.Container, signal: AbortSignal): Promise<void> {
    await sleep(this.around.clock, this.config.dockerStartMs, signal);
    const { State } = await container.inspect();
    if (State.Running) return;
    const message = `the container ended at once, with exit code ${State.ExitCode}${State.Error && `: ${State.Error}`}`;
    throw new BerthError('failed_precondition', 'ended_at_once', message);
  }

  #takenDevices(): ReadonlySet<string> {
    return new Set([...this.#entries.values()].flatMap(({ devices }) => devices));
  }

  async #unlessGone(work: Promise<unknown>): Promise<void> {
    await work.catch((thrown: unknown) => {
      if (!isGone(thrown) && !isUnchanged(thrown)) throw engineError(thrown);
    });
  }

  /** Hears of containers that end, for as long as the driver is open; what ended while it did not hear is looked up. */
  async #watch(): Promise<void> {
    const { signal } = this.#closing;
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        await this.#hear(signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        this.around.log.warn(
          { event: 'engine_unavailable', host: this.host, error },
          'Docker does not answer, retrying',
        );
      }
      await sleep(this.around.clock, backoffMs(failures + 1, RETRY, this.around.random), signal);
    }
  }

  async #hear(signal: AbortSignal): Promise<void> {
    const label = [`${LABELS.host}=${this.host}`];
    const filters: Docker.GetEventsOptions['filters'] = { type: ['container'], event: ['die'], label };
    const events = (await this.docker.getEvents({ filters })) as Readable;
    signal.addEventListener('abort', () => events.destroy());
    await this.#lookForEnded();
    let rest = '';
    for await (const chunk of events) {
      const lines = `${rest}${String(chunk)}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const { Attributes } = (JSON.parse(line) as { readonly Actor: { readonly Attributes: Record<string, string> } })
          .Actor;
        this.#ended(Attributes[LABELS.instance] ?? '', `its container ended with exit code ${Attributes['exitCode']}`);
      }
    }
  }

  async #lookForEnded(): Promise<void> {
    const running = new Set<string | undefined>();
    for (const { Labels, State } of await this.#containers())
      if (State === 'running') running.add(Labels[LABELS.instance]);
    for (const [uuid, { isRunning }] of this.#entries) {
      if (isRunning && !running.has(uuid)) this.#ended(uuid, 'its container was found ended');
    }
  }

  #ended(uuid: string, why: string): void {
    const entry = this.#entries.get(uuid);
    if (this.#closing.signal.aborted || !entry?.isRunning || entry.isEnding) return;
    this.#entries.delete(uuid);
    this.#assignments.release(uuid);
    this.#onExit(uuid, why);
  }
}

function engineInventories({ NCPU, MemTotal }: { readonly NCPU: number; readonly MemTotal: number }): Inventories {
  return { VCPU: inventory(NCPU), MEMORY_MB: inventory(Math.floor(MemTotal / 2 ** 20)) };
}
