import type { Resources } from '#libs/domain/inventory';

const MIB = 1_048_576;
const GIB = 1_073_741_824;

/** The command prefix that schedules in real time: SCHED_FIFO at its lowest priority, as Nova's. */
export const REALTIME: readonly string[] = ['chrt', '--fifo', '1'];

/** Cores and NUMA nodes of an instance. */
export interface RunsOn {
  /** None for all. */
  readonly cores: readonly number[];
  /** NUMA nodes that its memory comes from, by `numactl`; none for all. */
  readonly memoryNodes: readonly number[];
  readonly isRealtime: boolean;
}

/**
 * The command prefix that limits an instance to its resources. Each of its programs execs the next, so that the pid
 * stays. The kernel then enforces, without cgroups:
 *
 * - VCPU       it runs on that many cores, chosen by the driver (`taskset`); other instances share them
 * - real time  it is scheduled before all ordinary work on its cores (`chrt`)
 * - MEMORY_MB  the data of each of its processes (RLIMIT_DATA), not their sum, and not shared memory
 * - DISK_GB    the size of each file that it writes (RLIMIT_FSIZE), its output included; not their sum
 *
 * It also dumps no core and gains no privileges by setuid programs.
 *
 * @param userId  user and group to run as; undefined for those of the agent
 */
export function limitCommand(
  resources: Resources,
  { cores, memoryNodes, isRealtime }: RunsOn,
  userId: number | undefined,
): string[] {
  const { MEMORY_MB: memoryMb, DISK_GB: diskGb } = resources;
  const user = userId === undefined ? [] : [`--reuid=${userId}`, `--regid=${userId}`, '--clear-groups'];
  const affinity = cores.length > 0 ? ['taskset', '--cpu-list', cores.join(',')] : [];
  const memory = memoryNodes.length > 0 ? [...bindMemory(memoryNodes), '--'] : [];
  const data = memoryMb ? [`--data=${memoryMb * MIB}`] : [];
  const fileSize = diskGb ? [`--fsize=${diskGb * GIB}`] : [];
  return [
    ...memory,
    ...affinity,
    ...(isRealtime ? REALTIME : []),
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
