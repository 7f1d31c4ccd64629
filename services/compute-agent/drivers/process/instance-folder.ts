import { mkdir, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Resources } from '#libs/domain/inventory';
import { isUuid } from '#libs/domain/names';
import type { InstanceToBuild } from '../driver';
import type { ProcessId } from './proc';

/**
 * The folder of an instance, named by its uuid:
 *
 * - `facts.json`  boot, devices, cores and instance, written before the process starts, and again before a start after a stop
 * - `pid`         pid and start time, written by the process itself before it becomes the instance's command, so that
 *                 it can be found as soon as it runs
 * - `output`      its stdout and stderr
 * - `work/`       its working directory
 *
 * All but `work/` belongs to the agent's user, so that an instance under another user can't forge a pid.
 */
export interface InstanceFolder {
  readonly path: string;
  readonly pidFile: string;
  readonly work: string;
}

/** The facts needed to adopt an instance. */
export interface InstanceFacts {
  readonly bootId: string;
  readonly resources: Resources;
  /** PCI addresses of its passed-through devices; missing in an earlier version's file. */
  readonly devices?: readonly string[];
  /** Its assigned cores; missing in an earlier version's file. */
  readonly cores?: readonly number[];
  /** The input of a start after a stop; missing in an older version's folder. */
  readonly instance?: InstanceToBuild;
}

export function folderOf(root: string, uuid: string): InstanceFolder {
  const path = join(root, uuid);
  return { path, pidFile: join(path, 'pid'), work: join(path, 'work') };
}

/** Creates the folder, or resets the one that a stop has kept: its old pid must not be taken for the new process. */
export async function makeFolder(folder: InstanceFolder, facts: InstanceFacts): Promise<void> {
  await mkdir(folder.work, { recursive: true, mode: 0o755 });
  await rm(folder.pidFile, { force: true });
  await writeFile(join(folder.path, 'facts.json'), JSON.stringify(facts));
}

export async function removeFolder(folder: InstanceFolder): Promise<void> {
  await rm(folder.path, { recursive: true, force: true });
}

export function openOutput(folder: InstanceFolder) {
  return open(join(folder.path, 'output'), 'a', 0o600);
}

/** The end of the instance's output, on one line. */
export async function outputTail(folder: InstanceFolder): Promise<string> {
  const output = await readFile(join(folder.path, 'output'), 'utf8').catch(() => '');
  return output.slice(-TAIL_LENGTH).trim().replaceAll(/\s+/g, ' ');
}

/** In characters. */
const TAIL_LENGTH = 300;

/** Uuids of all instances that have a folder. */
export async function listFolders(root: string): Promise<string[]> {
  return (await readdir(root)).filter(isUuid);
}

/** Undefined when it is not written yet, or truncated. */
export async function readPid(folder: InstanceFolder): Promise<ProcessId | undefined> {
  const text = await readFile(folder.pidFile, 'utf8').catch(() => '');
  const match = /^(\d+) (\d+)\n$/.exec(text);
  return match ? { pid: Number(match[1]), startTicks: Number(match[2]) } : undefined;
}

/** Undefined when it is missing or truncated. */
export async function readFacts(folder: InstanceFolder): Promise<InstanceFacts | undefined> {
  try {
    return JSON.parse(await readFile(join(folder.path, 'facts.json'), 'utf8')) as InstanceFacts;
  } catch {
    return undefined;
  }
}
