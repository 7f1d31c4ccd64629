import { type FittingCell, isDedicated } from './fit-cell';
import { type FitSettings, fitTopology } from './fit-topology';
import { freeCpus, type HostCell, type HostHardware, type MemoryPages } from './host-hardware';
import { takeDevices } from './pci-devices';
import type { WantedHardware } from './wanted-hardware';

/**
 * A host's hardware once an instance has taken its part; undefined when it does not fit, or when the fit names
 * processors that are not free (see `fitTopology`): nova-compute could not claim them.
 */
export function takeHardware(
  host: HostHardware,
  { topology, pciRequests }: WantedHardware,
  settings: FitSettings,
): HostHardware | undefined {
  const fitted = topology && fitTopology(host, topology, pciRequests, settings);
  if (topology !== undefined && fitted === undefined) return undefined;
  const cellIds = fitted?.map(({ id }) => id);
  const pools = takeDevices(host.pools, pciRequests, host.cells, cellIds);
  const cells = fitted === undefined ? host.cells : host.cells.flatMap((cell) => takeCell(cell, fitted) ?? []);
  return pools === undefined || cells.length < host.cells.length ? undefined : { ...host, pools, cells };
}

/** A host's cell with those of an instance on it: Nova's `numa_usage_from_instance_numa`. */
function takeCell(host: HostCell, fitted: readonly FittingCell[]): HostCell | undefined {
  let left = host;
  for (const cell of fitted.filter(({ id }) => id === host.id)) {
    const pinned = isDedicated(cell) ? pinnedOf(cell, host) : [];
    const free = freeCpus(left);
    if (!pinned.every((cpu) => free.has(cpu))) return undefined;
    left = {
      ...left,
      cpuUsage: left.cpuUsage + cell.cpuset.size,
      memoryUsageMb: left.memoryUsageMb + cell.memoryMb,
      pages: left.pages.map((pages) => takePages(pages, cell, host.pages)),
      pinnedCpus: new Set([...left.pinnedCpus, ...pinned]),
    };
  }
  return left;
}

/** Processors that nobody else may have; of an isolated instance also the other threads of its cores. */
function pinnedOf({ pinnedCpus, threadPolicy }: FittingCell, { siblings }: HostCell): readonly number[] {
  if (threadPolicy !== 'isolate') return pinnedCpus;
  return siblings.filter((threads) => pinnedCpus.some((cpu) => threads.has(cpu))).flatMap((threads) => [...threads]);
}

function takePages(pages: MemoryPages, cell: FittingCell, all: readonly MemoryPages[]): MemoryPages {
  const smallestKb = Math.min(...all.map(({ sizeKb }) => sizeKb));
  if (pages.sizeKb !== (cell.pagesize === 0 ? smallestKb : cell.pagesize)) return pages;
  return { ...pages, used: pages.used + (cell.memoryMb * 1_024) / pages.sizeKb };
}
