import type { HostTopologyObject, PciPoolsObject } from '../objects/hardware';

/** Pages of one size of a cell's memory. */
export interface MemoryPages {
  readonly sizeKb: number;
  readonly total: number;
  readonly used: number;
  readonly reserved: number;
}

/** A NUMA node of a host. */
export interface HostCell {
  readonly id: number;
  /** Processors for instances that share them. */
  readonly cpuset: ReadonlySet<number>;
  /** Processors for instances that have them to themselves. */
  readonly pcpuset: ReadonlySet<number>;
  readonly pinnedCpus: ReadonlySet<number>;
  /** Threads by core. */
  readonly siblings: readonly ReadonlySet<number>[];
  readonly cpuUsage: number;
  readonly memoryMb: number;
  readonly memoryUsageMb: number;
  readonly pages: readonly MemoryPages[];
  /** Networks that are near; undefined where the host does not tell. */
  readonly networks: Networks | undefined;
  readonly socket: number | undefined;
}

export interface Networks {
  readonly physnets: ReadonlySet<string>;
  readonly isTunneled: boolean;
}

/** Free PCI devices of one kind and place. */
export interface PciPool {
  readonly count: number;
  readonly numaNode: number | undefined;
  /** Vendor, product, NUMA node and tags, by the names that requests ask for. */
  readonly properties: ReadonlyMap<string, string | number | undefined>;
}

/** Processors, memory, PCI devices, failed builds and metrics of a compute node, as nova-compute wrote them into its row. */
export interface HostHardware {
  /** NUMA nodes; none where the host tells none. */
  readonly cells: readonly HostCell[];
  /** Pools that have the fewest properties come first, as Nova takes devices. */
  readonly pools: readonly PciPool[];
  readonly cpuAllocationRatio: number;
  readonly ramAllocationRatio: number;
  /** Builds that failed there since the last that did not. */
  readonly failedBuilds: number;
  /** Metrics by name; undefined for one that is no number. */
  readonly metrics: ReadonlyMap<string, number | undefined>;
  /** Undefined where nobody asks for it. */
  readonly described?: HostDescription | undefined;
}

/** A compute node in Nova's own words, for JsonFilter. */
export interface HostDescription {
  /** The text as it is stored. */
  readonly cpuInfo: string | undefined;
  /** Undefined where nova-compute has not written any yet. */
  readonly stats: ReadonlyMap<string, string> | undefined;
  /** Processor, hypervisor and mode of each kind of instance. */
  readonly supportedInstances: readonly (readonly string[])[];
}

/** Dedicated processors that no instance has. */
export function freeCpus({ pcpuset, pinnedCpus }: HostCell): Set<number> {
  return new Set([...pcpuset].filter((cpu) => !pinnedCpus.has(cpu)));
}

export function freeMemoryMb({ memoryMb, memoryUsageMb }: HostCell): number {
  return memoryMb - memoryUsageMb;
}

export function hostCellsOf({ cells = [] }: HostTopologyObject): HostCell[] {
  return cells.map((cell) => {
    const networks = cell.network_metadata;
    return {
      id: cell.id ?? 0,
      cpuset: new Set(cell.cpuset),
      pcpuset: new Set(cell.pcpuset),
      pinnedCpus: new Set(cell.pinned_cpus),
      siblings: (cell.siblings ?? []).map((threads) => new Set(threads)),
      cpuUsage: cell.cpu_usage ?? 0,
      memoryMb: cell.memory ?? 0,
      memoryUsageMb: cell.memory_usage ?? 0,
      pages: (cell.mempages ?? []).map(({ size_kb: sizeKb = 0, total = 0, used = 0, reserved = 0 }) => {
        return { sizeKb, total, used, reserved };
      }),
      networks: networks && { physnets: new Set(networks.physnets), isTunneled: networks.tunneled ?? false },
      socket: cell.socket,
    };
  });
}

export function pciPoolsOf({ objects = [] }: PciPoolsObject): PciPool[] {
  const pools = objects.map(({ count = 0, numa_node: numaNode, vendor_id, product_id, tags }) => {
    const own = { vendor_id, product_id, numa_node: numaNode };
    return { count, numaNode, properties: new Map([...Object.entries(own), ...(tags ?? [])]) };
  });
  return pools.sort((a, b) => a.properties.size - b.properties.size);
}
