import type { CoresAndRam } from '../../../services/cli/trace/timeline';

/** The repeating host shapes of a fleet, in the trace's units. */
export type HostKinds = readonly CoresAndRam[];

export const USUAL: CoresAndRam = { cores: 9600, ram: 2250 };
const MEMORY_HEAVY: CoresAndRam = { cores: 6400, ram: 3072 };

/** The two host shapes of the traces on which all of their VMs fit. */
export const FLEETS: Readonly<Record<string, HostKinds>> = {
  one_kind: [USUAL],
  mixed: [USUAL, USUAL, MEMORY_HEAVY],
};

/** The shapes of this many hosts. */
export function hostsOf(kinds: HostKinds, count: number): CoresAndRam[] {
  return Array.from({ length: count }, (_, n) => kinds[n % kinds.length] as CoresAndRam);
}

/** The fractional bound: the fewest hosts on which the peak demand would fit if VMs could be split. */
export function boundOf(peak: CoresAndRam, kinds: HostKinds): number {
  let [cores, ram, count] = [0, 0, 0];
  while (cores < peak.cores || ram < peak.ram) {
    const { cores: c, ram: m } = kinds[count % kinds.length] as CoresAndRam;
    [cores, ram, count] = [cores + c, ram + m, count + 1];
  }
  return count;
}
