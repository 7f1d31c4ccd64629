import type { CoresAndRam } from '../../../services/cli/trace/timeline';

/** How the hosts of a fleet take turns, in the trace's units. */
export type HostKinds = readonly CoresAndRam[];

const USUAL: CoresAndRam = { cores: 9600, ram: 2250 };
const MEMORY_HEAVY: CoresAndRam = { cores: 6400, ram: 3072 };

/** Of the host shapes that the traces come with, the two on which all of their VMs fit. */
export const FLEETS: Readonly<Record<string, HostKinds>> = {
  one_kind: [USUAL],
  mixed: [USUAL, USUAL, MEMORY_HEAVY],
};

/** The shapes of so many hosts. */
export function hostsOf(kinds: HostKinds, count: number): CoresAndRam[] {
  return Array.from({ length: count }, (_, n) => kinds[n % kinds.length] as CoresAndRam);
}

/** The fractional bound: with fewer hosts not all that is demanded at one time would fit if it could be cut at will. */
export function boundOf(peak: CoresAndRam, kinds: HostKinds): number {
  let [cores, ram, count] = [0, 0, 0];
  while (cores < peak.cores || ram < peak.ram) {
    const { cores: c, ram: m } = kinds[count % kinds.length] as CoresAndRam;
    [cores, ram, count] = [cores + c, ram + m, count + 1];
  }
  return count;
}
