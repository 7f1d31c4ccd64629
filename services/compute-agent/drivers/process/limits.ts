import type { Resources } from '#libs/domain/inventory';

const MIB = 1_048_576;
const GIB = 1_073_741_824;

/**
 * What holds an instance to its resources, as words to put before its command. All of them replace themselves by the next,
 * so that the pid stays. What the kernel then enforces, without cgroups:
 *
 * - VCPU       it runs on that many cores, chosen by the driver (`taskset`); it shares them with others
 * - MEMORY_MB  the data of each of its processes (RLIMIT_DATA), not the sum of them, and not shared memory
 * - DISK_GB    the size of each file it writes (RLIMIT_FSIZE), its output included; not their sum
 *
 * Besides: no core dumps, and no gain of privileges by setuid programs.
 */
export function limited(resources: Resources, cpus: readonly number[], userId: number | undefined): string[] {
  const { MEMORY_MB: memoryMb, DISK_GB: diskGb } = resources;
  const user = userId === undefined ? [] : [`--reuid=${userId}`, `--regid=${userId}`, '--clear-groups'];
  const affinity = cpus.length > 0 ? ['taskset', '--cpu-list', cpus.join(',')] : [];
  const data = memoryMb ? [`--data=${memoryMb * MIB}`] : [];
  const fileSize = diskGb ? [`--fsize=${diskGb * GIB}`] : [];
  return [...affinity, 'setpriv', '--no-new-privs', ...user, '--', 'prlimit', '--core=0', ...data, ...fileSize, '--'];
}

/** Deals cores to instances: the ones that fewest instances run on. */
export interface Cores {
  /** As many cores as VCPUs are asked; none when that is all of them or no matter. */
  take(uuid: string, vcpus: number): readonly number[];
  giveBack(uuid: string): void;
}

export function createCores(cpus: readonly number[]): Cores {
  const held = new Map<string, readonly number[]>();
  const loadOf = (cpu: number) => [...held.values()].filter((taken) => taken.includes(cpu)).length;
  return {
    take(uuid, vcpus) {
      if (vcpus === 0 || vcpus >= cpus.length) return [];
      const byLoad = cpus.map((cpu) => ({ cpu, load: loadOf(cpu) })).sort((a, b) => a.load - b.load || a.cpu - b.cpu);
      const taken = byLoad.slice(0, vcpus).map(({ cpu }) => cpu);
      held.set(uuid, taken);
      return taken;
    },
    giveBack: (uuid) => void held.delete(uuid),
  };
}
