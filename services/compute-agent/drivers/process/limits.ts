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
 * @param cpus    cores to run on; none for all
 * @param userId  user and group to run as; undefined for those of the agent
 */
export function limitCommand(resources: Resources, cpus: readonly number[], userId: number | undefined): string[] {
  const { MEMORY_MB: memoryMb, DISK_GB: diskGb } = resources;
  const user = userId === undefined ? [] : [`--reuid=${userId}`, `--regid=${userId}`, '--clear-groups'];
  const affinity = cpus.length > 0 ? ['taskset', '--cpu-list', cpus.join(',')] : [];
  const data = memoryMb ? [`--data=${memoryMb * MIB}`] : [];
  const fileSize = diskGb ? [`--fsize=${diskGb * GIB}`] : [];
  return [...affinity, 'setpriv', '--no-new-privs', ...user, '--', 'prlimit', '--core=0', ...data, ...fileSize, '--'];
}

/** Assigns cores to instances, those first that the fewest instances run on. */
export interface CoreAssignments {
  /** As many cores as there are VCPUs; none when that is no limit. */
  assign(uuid: string, vcpus: number): readonly number[];
  release(uuid: string): void;
}

export function createCoreAssignments(cpus: readonly number[]): CoreAssignments {
  const assigned = new Map<string, readonly number[]>();
  const loadOf = (cpu: number) => [...assigned.values()].filter((cores) => cores.includes(cpu)).length;
  return {
    assign(uuid, vcpus) {
      if (vcpus === 0 || vcpus >= cpus.length) return [];
      const byLoad = cpus.map((cpu) => ({ cpu, load: loadOf(cpu) })).sort((a, b) => a.load - b.load || a.cpu - b.cpu);
      const cores = byLoad.slice(0, vcpus).map(({ cpu }) => cpu);
      assigned.set(uuid, cores);
      return cores;
    },
    release: (uuid) => void assigned.delete(uuid),
  };
}
