import { accessSync, constants } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import { delimiter, join } from 'node:path';
import { BerthError } from '#libs/domain/errors';
import { type Inventories, inventory } from '#libs/domain/inventory';

/** PATH of instances and of the tools that start them, which inherit nothing of the agent's environment. */
export const INSTANCE_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** What a launch needs, all of it in Debian's essential packages. */
const TOOLS = ['taskset', 'setpriv', 'prlimit', 'cut', 'mv'];

/** @throws BerthError `failed_precondition / not_linux`, `failed_precondition / missing_tools`. */
export function requireLinuxTools(): void {
  if (process.platform !== 'linux') {
    throw new BerthError('failed_precondition', 'not_linux', 'the process driver needs Linux and its /proc');
  }
  const folders = INSTANCE_PATH.split(delimiter);
  const missing = TOOLS.filter((tool) => !folders.some((folder) => isExecutable(join(folder, tool))));
  if (missing.length === 0) return;
  const message = `the process driver needs ${missing.join(', ')}: install util-linux and coreutils`;
  throw new BerthError('failed_precondition', 'missing_tools', message);
}

/** What this machine has, with the disk that `folder` is on. */
export async function machineInventories(folder: string): Promise<Inventories> {
  const disk = await statfs(folder);
  return {
    VCPU: inventory(availableParallelism()),
    MEMORY_MB: inventory(Math.floor(totalmem() / 2 ** 20)),
    DISK_GB: inventory(Math.floor((disk.blocks * disk.bsize) / 2 ** 30)),
  };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
