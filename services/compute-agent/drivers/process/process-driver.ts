import { mkdir } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Inventories, Resources } from '#libs/domain/inventory';
import type { ConfigOf } from '#libs/runtime/config';
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
import { commandFor } from './command-policy';
import { type CoreAssignments, type CoreSets, coreSets, createCoreAssignments } from './cores';
import { endProcess } from './end-process';
import { environmentOf } from './environment';
import {
  folderOf,
  type InstanceFolder,
  listFolders,
  makeFolder,
  readFacts,
  readPid,
  removeFolder,
} from './instance-folder';
import { launch } from './launch';
import { limitCommand } from './limits';
import { canBindMemory, machineInventories, machineTraits, requireLinuxTools } from './machine';
import {
  capacityWith,
  coreThreads,
  type MachineHost,
  type MachineTree,
  machineTree,
  SYS,
  withNamed,
} from './machine-tree';
import { placeOf } from './placing';
import { allowedCpus, bootId, findProcesses, isAlive, type ProcessId, parseCpuList } from './proc';
import type { processDriverOptions } from './process-options';

export type ProcessConfig = ConfigOf<typeof processDriverOptions>;

/** The host of a process driver. Without inventories it has the machine's resources. */
export interface ProcessHost extends MachineHost {
  /** The parent of its instances' folders. */
  readonly root: string;
}

interface RunningProcess {
  readonly id: ProcessId;
  readonly projectId: string | undefined;
  readonly resources: Resources;
  /** PCI addresses of its devices. */
  readonly devices: readonly string[];
  /** True when an earlier run started it: it is no child of this process, so its end is polled. */
  readonly isAdopted: boolean;
  isEnding: boolean;
}

/** A build ends by its signal; a start, once another run may hold the host. */
interface RunTerms {
  readonly signal?: AbortSignal;
  readonly fence?: Fence | undefined;
}

/** Time limit within which a new process writes its pid. */
const PID_WRITE_TIMEOUT_MS = 200;

/**
 * A driver whose instances are processes of this machine (Linux): each in its own session, limited to its resources
 * (`limits.ts`), running on when the agent stops or is killed, and found again by its folder. Signals go only to a
 * process whose start time matches too: its pid may have been reused.
 *
 * @throws BerthError `failed_precondition / not_linux`, `failed_precondition / missing_tools`.
 */
export async function openProcessDriver(
  host: ProcessHost,
  config: ProcessConfig,
  around: RuntimeDeps,
): Promise<Driver> {
  requireLinuxTools();
  await mkdir(host.root, { recursive: true, mode: 0o755 });
  const cores = coreSets(await allowedCpus(), parseCpuList(config.processDedicated));
  const inventories = host.capacity.inventories ?? (await machineInventories(host.root, cores));
  const { sys = SYS, capacity } = host;
  const traits = [...new Set([...capacity.traits, ...(await machineTraits(sys, cores, config.processRealtime))])];
  const threads = await coreThreads(sys, cores.dedicated);
  const machine = { boot: await bootId(), cores, threads, inventories };
  const driver = new ProcessDriver({ ...host, capacity: { ...capacity, traits } }, config, around, machine);
  await driver.look();
  await driver.adopt();
  return driver;
}

/** Facts about the machine, read once. */
interface FoundMachine {
  readonly boot: string;
  readonly cores: CoreSets;
  /** Threads of each dedicated core's core. */
  readonly threads: ReadonlyMap<number, readonly number[]>;
  readonly inventories: Inventories;
}

class ProcessDriver implements Driver {
  readonly boot: string;
  readonly cores: CoreSets;
  readonly inventories: Inventories;
  readonly #entries = new Map<string, RunningProcess>();
  readonly #external: RegExp | undefined;
  readonly #assignments: CoreAssignments;
  /** Devices of instances under construction. */
  readonly #promised = new Map<string, readonly string[]>();
  #tree: MachineTree = NO_TREE;
  #capacity: HostCapacity;
  #canBindMemory: boolean | undefined;
  #onExit: (uuid: string, why: string) => void = () => {};
  #cancelPoll: (() => void) | undefined;
  #isClosed = false;

  constructor(
    readonly host: ProcessHost,
    readonly config: ProcessConfig,
    readonly around: RuntimeDeps,
    { boot, cores, threads, inventories }: FoundMachine,
  ) {
    this.boot = boot;
    this.cores = cores;
    this.inventories = inventories;
    this.#assignments = createCoreAssignments(cores, (cpu) => threads.get(cpu) ?? [cpu]);
    this.#capacity = { ...host.capacity, inventories, nested: host.capacity.nested ?? [] };
    this.#external = config.processExternal === '' ? undefined : new RegExp(config.processExternal);
  }

  capacity(): HostCapacity {
    return this.#capacity;
  }

  onExit(listener: (uuid: string, why: string) => void): void {
    this.#onExit = listener;
  }

  /** Reads the machine's present resources: devices come and go. A flat host is not read. */
  async look(): Promise<void> {
    const { sys = SYS, capacity } = this.host;
    if (capacity.nested?.length === 0) return;
    this.#tree = withNamed(await machineTree(sys, this.cores), capacity.nested);
    this.#canBindMemory ??= await canBindMemory([...this.#tree.nodes.values()].map(({ number }) => number));
    const found = capacityWith(this.#tree, capacity, this.inventories);
    if (!isDeepStrictEqual(found.nested, this.#capacity.nested)) this.#capacity = found;
  }

  /** Finds the processes of earlier runs by their folders. */
  async adopt(): Promise<void> {
    const uuids = await listFolders(this.host.root);
    const adopted = await Promise.all(uuids.map(async (uuid) => this.#adoptOne(uuid, this.#folder(uuid))));
    const counts = { folders: uuids.length, running: adopted.filter(Boolean).length };
    this.around.log.debug({ event: 'processes_adopted', ...counts }, 'adopted processes by their instance folders');
    this.#pollSoon();
  }

  async #adoptOne(uuid: string, folder: InstanceFolder): Promise<boolean> {
    const facts = await readFacts(folder);
    const id = await this.#writtenPid(folder);
    if (facts === undefined || id === undefined || facts.bootId !== this.boot || !(await isAlive(id))) return false;
    if (facts.cores !== undefined && facts.cores.length > 0) this.#assignments.restore(uuid, facts.cores);
    this.#entries.set(uuid, {
      id,
      projectId: facts.instance?.projectId,
      resources: facts.resources,
      devices: facts.devices ?? [],
      isAdopted: true,
      isEnding: false,
    });
    return true;
  }

  /** A process started just before the agent died may still be about to write it. */
  async #writtenPid(folder: InstanceFolder): Promise<ProcessId | undefined> {
    const id = await readPid(folder);
    if (id !== undefined) return id;
    await sleep(this.around.clock, PID_WRITE_TIMEOUT_MS);
    return readPid(folder);
  }

  async build(instance: InstanceToBuild, signal: AbortSignal): Promise<void> {
    const command = await this.#commandOf(instance);
    // An earlier run may have left it half built.
    await this.destroy(instance.uuid);
    try {
      await this.#run(instance, command, { signal });
    } catch (thrown) {
      await this.destroy(instance.uuid);
      throw thrown;
    }
  }

  async stop(uuid: string): Promise<void> {
    const entry = this.#entries.get(uuid);
    const id = entry?.id ?? (await readPid(this.#folder(uuid)));
    if (entry) entry.isEnding = true;
    if (id) await endProcess(id, this.config.processStopMs, this.around.clock);
    this.#entries.delete(uuid);
  }

  async start(uuid: string, fence?: Fence): Promise<void> {
    if (this.#entries.has(uuid)) return;
    const instance = (await readFacts(this.#folder(uuid)))?.instance;
    if (instance === undefined) throw notStartable(uuid);
    try {
      await this.#run({ ...instance, powerState: 'running' }, await this.#commandOf(instance), { fence });
    } catch (thrown) {
      await this.stop(uuid);
      throw thrown;
    }
  }

  /** A move carries nothing over: the process starts anew at its destination, with the same command. */
  readonly moves: DriverMoves = {
    handOver: async (uuid, isLive) => {
      if (isLive) throw liveMigrationUnsupported('a process');
      await this.stop(uuid);
      return new Uint8Array();
    },
    arrive: (instance, _handover, signal) => this.build(instance, signal),
    resize: async (instance, fence) => {
      const command = await this.#commandOf(instance);
      await this.stop(instance.uuid);
      await this.#run(instance, command, { fence });
    },
  };

  async destroy(uuid: string): Promise<void> {
    await this.stop(uuid);
    await removeFolder(this.#folder(uuid));
    this.#assignments.release(uuid);
  }

  #commandOf({ requestSpec }: InstanceToBuild): Promise<readonly string[]> {
    return commandFor(requestSpec, {
      command: this.config.processCommand.split(' ').filter((word) => word !== ''),
      allowed: this.config.processAllowed,
    });
  }

  /** Runs it in the instance's folder, which a stop has kept, and on its claimed resources. */
  async #run(instance: InstanceToBuild, command: readonly string[], terms: RunTerms): Promise<void> {
    const { uuid, projectId, resources } = instance;
    const folder = this.#folder(uuid);
    const place = placeOf(instance, this.#tree, this.cores, this.#takenDevices());
    const { devices } = place;
    this.#promised.set(uuid, devices);
    try {
      const assigned = this.#assignments.assign(uuid, place.cores);
      await makeFolder(folder, { bootId: this.boot, resources, devices, cores: assigned.held, instance });
      if (instance.powerState === 'shutdown') return;
      const userId = this.config.processUid < 0 ? undefined : this.config.processUid;
      const memoryNodes = this.#canBindMemory ? place.memoryNodes : [];
      const runsOn = { cores: assigned.cores, memoryNodes, isRealtime: place.realtimeCount > 0 };
      const limits = limitCommand(resources, runsOn, userId);
      const { signal = NEVER, fence } = terms;
      const env = environmentOf(instance, folder, { place, assigned, all: this.cores });
      const job = { folder, userId, limits, command, env, fence };
      const { id, ended } = await launch({ ...job, startMs: this.config.processStartMs }, this.around.clock, signal);
      const entry = { id, projectId, resources, devices, isAdopted: false, isEnding: false };
      this.#entries.set(uuid, entry);
      void ended.then((why) => this.#ended(uuid, entry, why));
    } finally {
      this.#promised.delete(uuid);
    }
  }

  #takenDevices(): ReadonlySet<string> {
    const running = Array.from(this.#entries.values(), ({ devices }) => devices);
    return new Set([...running, ...this.#promised.values()].flat());
  }

  async list(): Promise<readonly RunningWorkload[]> {
    await this.look();
    const own = Array.from(this.#entries, ([id, { projectId, resources }]) => ({ id, projectId, resources }));
    if (!this.#external) return own;
    const groups = new Set(Array.from(this.#entries.values(), ({ id }) => id.pid));
    const others = (await findProcesses(this.#external)).filter(
      ({ pid, processGroup }) => pid !== process.pid && !groups.has(processGroup),
    );
    const found = others.map(({ pid, residentMb }) => ({
      id: `pid:${pid}`,
      resources: { VCPU: 1, MEMORY_MB: residentMb },
    }));
    return [...own, ...found];
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelPoll?.();
  }

  #ended(uuid: string, entry: RunningProcess, why: string): void {
    if (this.#isClosed || entry.isEnding || this.#entries.get(uuid) !== entry) return;
    this.#entries.delete(uuid);
    this.#assignments.release(uuid);
    this.#onExit(uuid, why);
  }

  /** Adopted processes are no children of this one: their end sends no signal. */
  #pollSoon(): void {
    const hasAdopted = [...this.#entries.values()].some(({ isAdopted }) => isAdopted);
    if (this.#isClosed || !hasAdopted) return;
    this.#cancelPoll = this.around.clock.after(this.config.processPollMs, () => {
      void this.#poll().finally(() => this.#pollSoon());
    });
  }

  async #poll(): Promise<void> {
    for (const [uuid, entry] of this.#entries) {
      if (!entry.isAdopted || (await isAlive(entry.id))) continue;
      this.#ended(uuid, entry, 'it ended; its exit code is unknown, as an earlier run of the agent had started it');
    }
  }

  #folder(uuid: string): InstanceFolder {
    return folderOf(this.host.root, uuid);
  }
}

/** A start is awaited until it is known to run, which takes bounded time. */
const NEVER = new AbortController().signal;

function notStartable(uuid: string): BerthError {
  const message = `what instance ${uuid} runs is not known here: it was built by an older version, or its folder is gone`;
  return new BerthError('failed_precondition', 'not_startable', message);
}

const NO_TREE: MachineTree = { nested: [], nodes: new Map(), devices: new Map() };
