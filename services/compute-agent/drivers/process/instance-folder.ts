import { mkdir, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Resources } from '#libs/domain/inventory';
import { isUuid } from '#libs/domain/names';
import type { ProcessId } from './proc';

/**
 * What the driver keeps of an instance on disk, in a folder of its uuid:
 *
 * - `facts.json`  boot and resources, written before the process starts
 * - `pid`         pid and start, written by the process itself before it becomes the instance's command, so that there
 *                 is no moment in which it runs and nobody could find it
 * - `output`      what it writes to stdout and stderr
 * - `work/`       where it runs
 *
 * All but `work/` belongs to the agent's user: an instance under another user can't forge a pid.
 */
export interface InstanceFolder {
  readonly path: string;
  readonly pidFile: string;
  readonly work: string;
}

export interface InstanceFacts {
  readonly bootId: string;
  readonly resources: Resources;
}

export function folderOf(root: string, uuid: string): InstanceFolder {
  const path = join(root, uuid);
  return { path, pidFile: join(path, 'pid'), work: join(path, 'work') };
}

export async function makeFolder(folder: InstanceFolder, facts: InstanceFacts): Promise<void> {
  await mkdir(folder.work, { recursive: true, mode: 0o755 });
  await writeFile(join(folder.path, 'facts.json'), JSON.stringify(facts));
}

export async function removeFolder(folder: InstanceFolder): Promise<void> {
  await rm(folder.path, { recursive: true, force: true });
}

export function openOutput(folder: InstanceFolder) {
  return open(join(folder.path, 'output'), 'a', 0o600);
}

/** The end of what the instance wrote, on one line. */
export async function lastWords(folder: InstanceFolder): Promise<string> {
  const output = await readFile(join(folder.path, 'output'), 'utf8').catch(() => '');
  return output.slice(-LAST_WORDS).trim().replaceAll(/\s+/g, ' ');
}

const LAST_WORDS = 300;

/** Uuids of all instances that have a folder. */
export async function listFolders(root: string): Promise<string[]> {
  return (await readdir(root)).filter(isUuid);
}

/** Undefined when the process has not written it, or it is cut short. */
export async function readPid(folder: InstanceFolder): Promise<ProcessId | undefined> {
  const text = await readFile(folder.pidFile, 'utf8').catch(() => '');
  const match = /^(\d+) (\d+)\n$/.exec(text);
  return match ? { pid: Number(match[1]), startTicks: Number(match[2]) } : undefined;
}

/** Undefined when it was never written whole. */
export async function readFacts(folder: InstanceFolder): Promise<InstanceFacts | undefined> {
  try {
    return JSON.parse(await readFile(join(folder.path, 'facts.json'), 'utf8')) as InstanceFacts;
  } catch {
    return undefined;
  }
}
