import type { TraceVm } from './read-trace';
import type { CoresAndRam } from './timeline';

/** VMs of about one size. */
export interface SizeClass {
  /** Upper bound of their share of a host's cores or ram, whichever is larger. */
  readonly upToShare: number;
  readonly asked: number;
  readonly refused: number;
  readonly refusedCores: number;
  readonly refusedRam: number;
}

const LIMITS = [1 / 64, 1 / 16, 1 / 4, 1 / 2, Number.POSITIVE_INFINITY];

/**
 * Refusals by size. A mere count flatters a fleet that refuses few but large VMs, hence cores and ram.
 *
 * @param host  capacity of the largest host
 */
export function refusalsBySize(
  vms: readonly TraceVm[],
  isPlaced: (vmId: string) => boolean,
  host: CoresAndRam,
): SizeClass[] {
  const sizes = LIMITS.map((upToShare) => ({ upToShare, asked: 0, refused: 0, refusedCores: 0, refusedRam: 0 }));
  for (const { vmId, cores, ram } of vms) {
    const share = Math.max(cores / host.cores, ram / host.ram);
    const size = sizes.find(({ upToShare }) => share <= upToShare);
    if (!size) continue;
    size.asked += 1;
    if (isPlaced(vmId)) continue;
    size.refused += 1;
    size.refusedCores += cores;
    size.refusedRam += ram;
  }
  return sizes.filter(({ asked }) => asked > 0);
}
