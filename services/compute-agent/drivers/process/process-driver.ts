import { accessSync, constants } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import { delimiter, join } from 'node:path';
import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { type Inventories, inventory, type Resources } from '#libs/domain/inventory';
import type { ConfigOf } from '#libs/runtime/config';
import type { Surroundings } from '#libs/runtime/service';
import type { Driver, Found, HostCapacity, InstanceToBuild } from '../driver';
import { commandFor } from './command-policy';
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
import { type Cores, createCores, limited, TOOLS } from './limits';
import { allowedCpus, bootId, factsOf, findProcesses, isAlive, type ProcessId } from './proc';
import type { processDriverOptions } from './process-options';

export type ProcessConfig = ConfigOf<typeof processDriverOptions>;

/** What the process driver is opened with. `capacity` says nothing of inventories when the machine shall say it. */
export interface ProcessHost {
  /** Where its instances have their folders. */
  readonly root: string;
  readonly capacity: Omit<HostCapacity, 'inventories'> & { readonly inventories: Inventories | undefined };
}

interface Entry {
  readonly id: ProcessId;
  readonly resources: Resources;
  /** Nobody but the driver sees it end: it is no child of this process. */
  readonly isAdopted: boolean;
  isEnding: boolean;
}

/** Where instances and the tools before them are looked for: nothing of the agent's own environment is handed on. */
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const GONE_POLL_MS = 20;
/** What SIGKILL does not end in this time hangs in the kernel. */
const KILL_TIMEOUT_MS = 5_000;

/**
 * A driver whose instances are processes of this machine (Linux): each in a session of its own, held to its resources as
 * `limits.ts` says, running on when the agent stops or is killed, and found again by its folder. A process that was told
 * from another by pid alone could be the wrong one; its start time is always compared first.
 *
 * @throws BerthError `failed_precondition / not_linux`, `failed_precondition / missing_tools`.
 */
export async function openProcessDriver(
  host: ProcessHost,
  config: ProcessConfig,
  around: Surroundings,
): Promise<Driver> {
  requireTools();
  const driver = new ProcessDriver(host, config, around, await bootId(), createCores(await allowedCpus()), {
    ...host.capacity,
    inventories: host.capacity.inventories ?? (await machineInventories(host.root)),
  });
  await driver.adopt();
  return driver;
}

class ProcessDriver implements Driver {
  readonly #entries = new Map<string, Entry>();
  readonly #external: RegExp | undefined;
  #onExit: (uuid: string, why: string) => void = () => {};
  #cancelPoll: (() => void) | undefined;
  #isClosed = false;

  constructor(
    readonly host: ProcessHost,
    readonly config: ProcessConfig,
    readonly around: Surroundings,
    readonly boot: string,
    readonly cores: Cores,
    readonly hostCapacity: HostCapacity,
  ) {
    this.#external = config.processExternal === '' ? undefined : new RegExp(config.processExternal);
  }

  capacity(): HostCapacity {
    return this.hostCapacity;
  }

  onExit(listener: (uuid: string, why: string) => void): void {
    this.#onExit = listener;
  }

  /** Finds the processes that earlier runs started, by their folders. */
  async adopt(): Promise<void> {
    const uuids = await listFolders(this.host.root);
    const adopted = await Promise.all(uuids.map(async (uuid) => this.#adoptOne(uuid, this.#folder(uuid))));
    this.around.log.debug({ found: uuids.length, running: adopted.filter(Boolean).length }, 'looked for instances');
    this.#pollSoon();
  }

  async #adoptOne(uuid: string, folder: InstanceFolder): Promise<boolean> {
    const facts = await readFacts(folder);
    const id = await this.#writtenPid(folder);
    if (facts === undefined || id === undefined || facts.bootId !== this.boot || !(await isAlive(id))) return false;
    this.#entries.set(uuid, { id, resources: facts.resources, isAdopted: true, isEnding: false });
    return true;
  }

  /** A process that was just started when the agent died may be about to write it. */
  async #writtenPid(folder: InstanceFolder): Promise<ProcessId | undefined> {
    const id = await readPid(folder);
    if (id !== undefined) return id;
    await sleep(this.around.clock, GONE_POLL_MS * 10);
    return readPid(folder);
  }

  async build(instance: InstanceToBuild, signal: AbortSignal): Promise<void> {
    const { uuid, resources, requestSpec } = instance;
    const words = await commandFor(requestSpec, {
      command: this.config.processCommand.split(' ').filter((word) => word !== ''),
      allowed: this.config.processAllowed,
    });
    // What an earlier run left half made.
    await this.destroy(uuid);
    const folder = this.#folder(uuid);
    await makeFolder(folder, { bootId: this.boot, resources });
    const userId = this.config.processUid < 0 ? undefined : this.config.processUid;
    const limits = limited(resources, this.cores.take(uuid, resources['VCPU'] ?? 0), userId);
    const job = { folder, userId, words: [...limits, ...words], env: environmentOf(instance, folder) };
    try {
      const { id, ended } = await launch({ ...job, startMs: this.config.processStartMs }, this.around.clock, signal);
      const entry = { id, resources, isAdopted: false, isEnding: false };
      this.#entries.set(uuid, entry);
      void ended.then((why) => this.#ended(uuid, entry, why));
    } catch (thrown) {
      await this.destroy(uuid);
      throw thrown;
    }
  }

  async destroy(uuid: string): Promise<void> {
    const folder = this.#folder(uuid);
    const entry = this.#entries.get(uuid);
    const id = entry?.id ?? (await readPid(folder));
    if (entry) entry.isEnding = true;
    if (id && (await isAlive(id))) await this.#end(id);
    if (id) await killGroupWithoutLeader(id);
    await removeFolder(folder);
    this.#entries.delete(uuid);
    this.cores.giveBack(uuid);
  }

  async list(): Promise<readonly Found[]> {
    const own = Array.from(this.#entries, ([id, { resources }]) => ({ id, resources }));
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

  async #end(id: ProcessId): Promise<void> {
    signalGroup(id, 'SIGTERM');
    if (await this.#isGone(id, this.config.processStopMs)) return;
    signalGroup(id, 'SIGKILL');
    if (await this.#isGone(id, KILL_TIMEOUT_MS)) return;
    throw new BerthError('unavailable', 'not_ended', `process ${id.pid} does not end, though it was killed`);
  }

  async #isGone(id: ProcessId, withinMs: number): Promise<boolean> {
    const { clock } = this.around;
    const untilMs = clock.now() + withinMs;
    while (await isAlive(id)) {
      if (clock.now() >= untilMs) return false;
      await sleep(clock, GONE_POLL_MS);
    }
    return true;
  }

  #ended(uuid: string, entry: Entry, why: string): void {
    if (this.#isClosed || entry.isEnding || this.#entries.get(uuid) !== entry) return;
    this.#entries.delete(uuid);
    this.cores.giveBack(uuid);
    this.#onExit(uuid, why);
  }

  /** Adopted processes are nobody's children here, so somebody must look. */
  #pollSoon(): void {
    const hasAdopted = [...this.#entries.values()].some(({ isAdopted }) => isAdopted);
    if (this.#isClosed || !hasAdopted) return;
    this.#cancelPoll = this.around.clock.after(this.config.processPollMs, () => {
      void this.#poll().finally(() => this.#pollSoon());
    });
  }

  async #poll(): Promise<void> {
    for (const [uuid, entry] of [...this.#entries]) {
      if (!entry.isAdopted || (await isAlive(entry.id))) continue;
      this.#ended(uuid, entry, 'it ended; an earlier run of the agent had started it, so how is not known');
    }
  }

  #folder(uuid: string): InstanceFolder {
    return folderOf(this.host.root, uuid);
  }
}

function environmentOf(instance: InstanceToBuild, folder: InstanceFolder): Record<string, string> {
  return {
    PATH,
    HOME: folder.work,
    BERTH_INSTANCE_UUID: instance.uuid,
    BERTH_INSTANCE_NAME: instance.name,
    BERTH_PROJECT_ID: instance.projectId,
  };
}

/** The leader's pid is the group's id. */
function signalGroup({ pid }: ProcessId, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is gone already.
  }
}

/**
 * Ends what a leader left behind. Linux does not give a pid again while a group goes by it, so a process that has the
 * pid now means that the group was empty and the number is another's: then nothing may be signalled.
 */
async function killGroupWithoutLeader(id: ProcessId): Promise<void> {
  if ((await factsOf(id.pid)) === undefined) signalGroup(id, 'SIGKILL');
}

async function machineInventories(root: string): Promise<Inventories> {
  const disk = await statfs(root).catch(() => statfs('/'));
  const diskGb = Math.floor((disk.blocks * disk.bsize) / 2 ** 30);
  return {
    VCPU: inventory(availableParallelism()),
    MEMORY_MB: inventory(Math.floor(totalmem() / 2 ** 20)),
    DISK_GB: inventory(diskGb),
  };
}

function requireTools(): void {
  if (process.platform !== 'linux') {
    throw new BerthError('failed_precondition', 'not_linux', 'the process driver needs Linux and its /proc');
  }
  const missing = TOOLS.filter((tool) => !PATH.split(delimiter).some((folder) => isExecutable(join(folder, tool))));
  if (missing.length === 0) return;
  const message = `the process driver needs ${missing.join(', ')}: install util-linux and coreutils`;
  throw new BerthError('failed_precondition', 'missing_tools', message);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
