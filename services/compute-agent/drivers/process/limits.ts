import type { Resources } from '#libs/domain/inventory';

const MIB = 1_048_576;
const GIB = 1_073_741_824;

/**
 * The command prefix that limits an instance to its resources. Each of its programs execs the next, so that the pid
 * stays. The kernel then enforces, without cgroups:
 *
 * - VCPU       it runs on that many cores, chosen by the driver (`taskset`); other instances share them
 * - MEMORY_MB  the data of each of its processes (RLIMIT_DATA), not their sum, and not shared memory
 * - DISK_GB    the size of each file that it writes (RLIMIT_FSIZE), its output included; not their sum
 *
 * It also dumps no core and gains no privileges by setuid programs.
 *
 * @param cpus         cores to run on; none for all
 * @param memoryNodes  NUMA nodes that its memory comes from, by `numactl`; none for all
 * @param userId       user and group to run as; undefined for those of the agent
 */
export function limitCommand(
  resources: Resources,
  cpus: readonly number[],
  memoryNodes: readonly number[],
  userId: number | undefined,
): string[] {
  const { MEMORY_MB: memoryMb, DISK_GB: diskGb } = resources;
  const user = userId === undefined ? [] : [`--reuid=${userId}`, `--regid=${userId}`, '--clear-groups'];
  const affinity = cpus.length > 0 ? ['taskset', '--cpu-list', cpus.join(',')] : [];
  const memory = memoryNodes.length > 0 ? [...bindMemory(memoryNodes), '--'] : [];
  const data = memoryMb ? [`--data=${memoryMb * MIB}`] : [];
  const fileSize = diskGb ? [`--fsize=${diskGb * GIB}`] : [];
  return [
    ...memory,
    ...affinity,
    'setpriv',
    '--no-new-privs',
    ...user,
    '--',
    'prlimit',
    '--core=0',
    ...data,
    ...fileSize,
    '--',
  ];
}

/** The command prefix that binds memory to NUMA nodes. */
export function bindMemory(nodes: readonly number[]): string[] {
  return ['numactl', `--membind=${nodes.join(',')}`];
}
