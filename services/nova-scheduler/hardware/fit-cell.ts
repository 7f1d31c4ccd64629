import { freeMemoryMb, type HostCell, type MemoryPages } from './host-hardware';
import { packOntoCores } from './pack-cores';
import { PAGES, type WantedCell } from './wanted-hardware';

/** A cell of an instance on its way to a host's cell. */
export interface FittingCell extends WantedCell {
  id: number;
  pagesize: number;
  /** Host processors that are its own, and its emulator's. */
  pinnedCpus: readonly number[];
}

/** Allocation ratios of a host, for processors and memory that instances share. */
export interface CellLimits {
  readonly cpuAllocationRatio: number;
  readonly ramAllocationRatio: number;
}

const KB_PER_MB = 1_024;

/**
 * Fits a cell of an instance onto one of a host, as Nova's `_numa_fit_instance_cell`; writes what it found into the instance's cell, also a
 * page size for which the cell turns out to be too small.
 *
 * @param reservedCount  processors that the emulator needs beside
 * @returns true when it fits
 */
export function fitsCell(host: HostCell, cell: FittingCell, limits: CellLimits, reservedCount: number): boolean {
  if (!fitsPages(host, cell)) return false;
  const isShared = !isDedicated(cell) || cell.cpuPolicy === 'mixed';
  const ownCount = cell.pcpuset.size + reservedCount;
  if (isDedicated(cell) && ownCount > host.pcpuset.size) return false;
  if (isShared && cell.cpuset.size > host.cpuset.size) return false;
  if (isDedicated(cell)) {
    const freeCount = [...host.pcpuset].filter((cpu) => !host.pinnedCpus.has(cpu)).length;
    if (ownCount > freeCount || cell.memoryMb > freeMemoryMb(host)) return false;
    const packed = packOntoCores(host, cell, reservedCount);
    if (packed === undefined) return false;
    cell.pinnedCpus = [...packed.pinned, ...packed.reserved];
    cell.id = host.id;
  }
  if (isShared) {
    if (host.cpuUsage + cell.cpuset.size > host.cpuset.size * limits.cpuAllocationRatio) return false;
    if (host.memoryUsageMb + cell.memoryMb > host.memoryMb * limits.ramAllocationRatio) return false;
  }
  cell.id = host.id;
  return true;
}

/** True where processors are the instance's own, some at least. */
export function isDedicated({ cpuPolicy }: WantedCell): boolean {
  return cpuPolicy === 'dedicated' || cpuPolicy === 'mixed';
}

function fitsPages(host: HostCell, cell: FittingCell): boolean {
  const memoryKb = cell.memoryMb * KB_PER_MB;
  const ascending = host.pages.toSorted((a, b) => a.sizeKb - b.sizeKb);
  const [smallest, ...larger] = ascending;
  if (cell.pagesize === 0) {
    // Without huge pages memory may be given more than once, but to no instance more than there is.
    if (smallest === undefined) return cell.memoryMb <= host.memoryMb;
    return isWhole(smallest, memoryKb) && memoryKb <= smallest.total * smallest.sizeKb;
  }
  const sizes: Readonly<Record<number, readonly MemoryPages[]>> = {
    [PAGES.small]: ascending.slice(0, 1),
    [PAGES.large]: larger,
    [PAGES.any]: ascending,
  };
  const allowed = sizes[cell.pagesize] ?? ascending.filter(({ sizeKb }) => sizeKb === cell.pagesize);
  const fitting = allowed.findLast((pages) => isWhole(pages, memoryKb) && memoryKb <= freeKb(pages));
  if (fitting === undefined) return false;
  cell.pagesize = fitting.sizeKb;
  return true;
}

function isWhole({ sizeKb }: MemoryPages, memoryKb: number): boolean {
  return memoryKb % sizeKb === 0;
}

function freeKb({ total, used, reserved, sizeKb }: MemoryPages): number {
  return (total - used - reserved) * sizeKb;
}
