import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { delimiter, join } from 'node:path';
import { BerthError } from '#libs/domain/errors';
import { CPU_REALTIME, EMULATOR_THREADS, HYPERTHREADING } from '#libs/domain/extra-specs/processors';
import { type Inventories, inventory } from '#libs/domain/inventory';
import type { CoreSets } from './cores';
import { bindMemory, REALTIME } from './limits';
import { coreThreads } from './machine-tree';

/** PATH of instances and of their start tools, which inherit nothing of the agent's environment. */
export const INSTANCE_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Tools of a launch, all in Debian's essential packages. */
const TOOLS = ['taskset', 'setpriv', 'prlimit', 'cut', 'mv'];

/**
 * True when instances' memory can be bound to these NUMA nodes: `numactl` exists, and the kernel permits it to this
 * process. (Container runtimes mostly do not.)
 */
export async function canBindMemory(nodes: readonly number[]): Promise<boolean> {
  return nodes.length > 0 && runs([...bindMemory(nodes), '--', 'true']);
}

/**
 * Traits of a host that follow from its machine, and from what its kernel permits to this process.
 *
 * @param mayBeRealtime  false where instances get no real time, whatever the kernel permits
 */
export async function machineTraits(
  sys: string,
  { shared, dedicated }: CoreSets,
  mayBeRealtime: boolean,
): Promise<readonly string[]> {
  const threads = await coreThreads(sys, [...shared, ...dedicated]);
  const hasThreads = [...threads.values()].some((siblings) => siblings.length > 1);
  const isRealtime = mayBeRealtime && dedicated.length > 0 && (await runs([...REALTIME, 'true']));
  return [
    ...(hasThreads ? [HYPERTHREADING] : []),
    ...(dedicated.length > 0 ? [EMULATOR_THREADS] : []),
    ...(isRealtime ? [CPU_REALTIME] : []),
  ];
}

/** True if a command ends well. */
function runs([command = '', ...args]: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { env: { PATH: INSTANCE_PATH }, stdio: 'ignore' });
    child.once('error', () => resolve(false));
    child.once('exit', (code) => resolve(code === 0));
  });
}

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

/** The inventories of this machine, with the disk of `folder`. */
export async function machineInventories(folder: string, { shared, dedicated }: CoreSets): Promise<Inventories> {
  const disk = await statfs(folder);
  return {
    VCPU: inventory(shared.length),
    ...(dedicated.length > 0 && { PCPU: inventory(dedicated.length) }),
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
