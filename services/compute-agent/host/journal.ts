import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { HostDisabled } from '#libs/contracts/stats';
import { BerthError } from '#libs/domain/errors';
import { isUuid } from '#libs/domain/names';
import { createKeyedLock } from '#libs/runtime/keyed-lock';
import type { ConcludedBuild } from './ended/concluded-builds';
import type { TrackedInstance } from './tracked-instance';

/**
 * The instances of a host on disk, one small JSON file each, and its disabled state, so that an agent finds them again
 * after a kill.
 */
export interface Journal {
  load(): Promise<TrackedInstance[]>;
  /** Instances with an unreadable entry, until they are put or removed: nothing is known except that they were here. */
  loadUnreadable(): Promise<string[]>;
  /** The operator's disabling of the host in the last report's answer, if any. */
  loadDisabled(): Promise<HostDisabled | undefined>;
  putDisabled(disabled: HostDisabled | undefined): Promise<void>;
  put(instance: TrackedInstance): Promise<void>;
  remove(uuid: string): Promise<void>;
  /** Builds that failed, and instances that exited or were destroyed, as long as their orders may come again. */
  loadEnded(): Promise<EndedBuild[]>;
  putEnded(ended: EndedBuild): Promise<void>;
  removeEnded(uuid: string): Promise<void>;
}

/** The attempt and claim of an instance that is not here any more: with a result it was never built, without one it was lost or destroyed. */
export interface EndedBuild extends Pick<TrackedInstance, 'uuid' | 'attempt' | 'claimToken'> {
  readonly result?: ConcludedBuild | undefined;
  /** The deadline of its build, in store time; 0 or missing for none. */
  readonly deadlineAtMs?: number | undefined;
}

/** For an agent without a state folder: stores nothing. */
export const noJournal: Journal = {
  load: async () => [],
  loadUnreadable: async () => [],
  loadDisabled: async () => undefined,
  async putDisabled() {},
  async put() {},
  async remove() {},
  loadEnded: async () => [],
  async putEnded() {},
  async removeEnded() {},
};

/** @throws BerthError `failed_precondition / state_dir` when the folder can't be used. */
export async function openJournal(folder: string): Promise<Journal> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((cause: unknown) => {
    throw new BerthError('failed_precondition', 'state_dir', `the folder ${folder} can't be made or written`, {
      cause,
    });
  });
  const fileOf = (uuid: string) => join(folder, `${uuid}.json`);
  const endedFileOf = (uuid: string) => join(folder, `${uuid}${ENDED}`);
  const disabledFile = join(folder, 'disabled.json');
  const readEach = async <T>(ending: string, isWhole: (value: Partial<T>, uuid: string) => boolean): Promise<T[]> => {
    const names = (await readdir(folder)).filter((name) => name.endsWith(ending));
    const uuids = names.map((name) => name.slice(0, -ending.length)).filter(isUuid);
    const read = await Promise.all(
      uuids.map((uuid) => readOrSetAside<T>(join(folder, `${uuid}${ending}`), (value) => isWhole(value, uuid))),
    );
    return read.filter((one) => one !== undefined);
  };
  return {
    async load() {
      await removeUnfinished(folder);
      return readEach('.json', isTracked);
    },
    async loadUnreadable() {
      const names = (await readdir(folder)).filter((name) => name.endsWith(`.json${UNREADABLE}`));
      return names.map((name) => name.replace(`.json${UNREADABLE}`, '')).filter(isUuid);
    },
    loadDisabled: () => readOrSetAside<HostDisabled>(disabledFile, ({ reason }) => typeof reason === 'string'),
    async putDisabled(disabled) {
      if (disabled) await replaceFile(disabledFile, disabled);
      else await removeFile(disabledFile);
    },
    async put(instance) {
      await replaceFile(fileOf(instance.uuid), instance);
      await removeFile(`${fileOf(instance.uuid)}${UNREADABLE}`);
    },
    async remove(uuid) {
      await removeFile(fileOf(uuid));
      await removeFile(`${fileOf(uuid)}${UNREADABLE}`);
    },
    loadEnded: () => readEach(ENDED, isBuiltBy),
    putEnded: ({ uuid, attempt, claimToken, result, deadlineAtMs }) =>
      replaceFile(endedFileOf(uuid), { uuid, attempt, claimToken, result, deadlineAtMs }),
    removeEnded: (uuid) => removeFile(endedFileOf(uuid)),
  };
}

/** Suffix of ended builds' files; older agents know it for what was lost. */
const ENDED = '.lost.json';

/** Suffix of unreadable files, kept for inspection. */
const UNREADABLE = '.unreadable';
const UNFINISHED = '.new';

/** One writer per file: the last write wins. */
const writers = createKeyedLock();
let writeCount = 0;

/**
 * Writes a value as JSON, durable once resolved. A kill or a power loss meanwhile leaves the old file: each write
 * completes a temporary file of its own before it replaces the old one.
 */
export function replaceFile(file: string, value: unknown): Promise<void> {
  return writers.run(file, async () => {
    writeCount += 1;
    const unfinished = `${file}.${process.pid}-${writeCount}${UNFINISHED}`;
    try {
      await writeSynced(unfinished, JSON.stringify(value));
      await rename(unfinished, file);
    } catch (thrown) {
      await rm(unfinished, { force: true }).catch(() => {});
      throw thrown;
    }
    await syncFolder(dirname(file));
  });
}

function removeFile(file: string): Promise<void> {
  return writers.run(file, async () => {
    await rm(file, { force: true });
  });
}

async function writeSynced(file: string, text: string): Promise<void> {
  const handle = await open(file, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Temporary files of runs that died during a write. */
async function removeUnfinished(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(UNFINISHED));
  await Promise.all(names.map((name) => rm(join(folder, name), { force: true })));
}

function isBuiltBy({ uuid, attempt, claimToken }: Partial<EndedBuild>, name: string): boolean {
  return uuid === name && typeof attempt === 'number' && typeof claimToken === 'number';
}

function isTracked(value: Partial<TrackedInstance>, name: string): boolean {
  const { state, resources } = value;
  return isBuiltBy(value, name) && typeof state === 'string' && typeof resources === 'object' && resources !== null;
}

/** Undefined for a missing file, and for a damaged one, which is kept under another name. */
async function readOrSetAside<T>(file: string, isWhole: (value: Partial<T>) => boolean): Promise<T | undefined> {
  const text = await readFile(file, 'utf8').catch(({ code, ...error }: NodeJS.ErrnoException) => {
    if (code === 'ENOENT') return undefined;
    if (code === 'EISDIR' || code === 'EIO') return '';
    throw new BerthError('failed_precondition', 'state_dir', `${file} can't be read: ${code}`, { cause: error });
  });
  if (text === undefined) return undefined;
  const value = parsed(text);
  if (typeof value === 'object' && value !== null && isWhole(value)) return value as T;
  await rename(file, `${file}${UNREADABLE}`);
  return undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
