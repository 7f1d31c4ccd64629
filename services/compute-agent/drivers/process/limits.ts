import type { Resources } from '#libs/domain/inventory';

const MIB = 1_048_576;
const GIB = 1_073_741_824;

/**
 * The command that holds an instance to its resources, to be put before its own. Each of its programs execs the next,
 * so that the pid stays. What the kernel then enforces, without cgroups:
 *
 * - VCPU       it runs on that many cores, chosen by the driver (`taskset`); other instances share them
 * - MEMORY_MB  the data of each of its processes (RLIMIT_DATA), not their sum, and not shared memory
 * - DISK_GB    the size of each file that it writes (RLIMIT_FSIZE), its output included; not their sum
 *
 * Besides, it dumps no core and gains no privileges by setuid programs.
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

/** What binds the memory of the command that follows to NUMA nodes. */
export function bindMemory(nodes: readonly number[]): string[] {
  return ['numactl', `--membind=${nodes.join(',')}`];
}

/** So many of these cores. */
export interface CoresWanted {
  readonly count: number;
  readonly among: readonly number[];
}

/** Assigns cores to instances, those first that the fewest instances run on. */
export interface CoreAssignments {
  /** Of each part as many cores as it wants; none when that is no limit. */
  assign(uuid: string, parts: readonly CoresWanted[]): readonly number[];
  release(uuid: string): void;
}

export function createCoreAssignments(cpus: readonly number[]): CoreAssignments {
  const assigned = new Map<string, readonly number[]>();
  const loadOf = (cpu: number) => [...assigned.values()].filter((cores) => cores.includes(cpu)).length;
  return {
    assign(uuid, parts) {
      const cores = parts.flatMap(({ count, among }) => {
        const byLoad = among
          .map((cpu) => ({ cpu, load: loadOf(cpu) }))
          .sort((a, b) => a.load - b.load || a.cpu - b.cpu);
        return byLoad.slice(0, count).map(({ cpu }) => cpu);
      });
      if (cores.length >= cpus.length) return [];
      if (cores.length > 0) assigned.set(uuid, cores);
      return cores;
    },
    release: (uuid) => void assigned.delete(uuid),
  };
}
