import type { InstanceTopologyObject, PciRequestsObject } from '../objects/hardware';
import type { SpecObject } from '../objects/tables';
import type { Networks } from './host-hardware';

/** Wanted page size where it is none in kB. */
export const PAGES = { small: -1, large: -2, any: -3 } as const;

/** A NUMA node of an instance. */
export interface WantedCell {
  readonly id: number;
  readonly cpuset: ReadonlySet<number>;
  readonly pcpuset: ReadonlySet<number>;
  readonly memoryMb: number;
  /** In kB, or one of `PAGES`; 0 where the instance does not care. */
  readonly pagesize: number;
  readonly cpuPolicy: string | undefined;
  readonly threadPolicy: string | undefined;
}

export interface WantedTopology {
  readonly cells: readonly WantedCell[];
  /** True when the emulator's threads need a processor of their own. */
  readonly isEmulatorIsolated: boolean;
  readonly networks: Networks | undefined;
}

/** Wanted PCI devices of a kind. */
export interface PciRequest {
  readonly count: number;
  /** Properties of a device; each of the list will do. */
  readonly anyOf: readonly ReadonlyMap<string, string | undefined>[];
  readonly numaPolicy: string | undefined;
}

/** Processors, memory and PCI devices that a request wants. */
export interface WantedHardware {
  /** Undefined where no NUMA node is wanted. */
  readonly topology: WantedTopology | undefined;
  readonly pciRequests: readonly PciRequest[];
}

export function wantedHardware(spec: SpecObject): WantedHardware {
  const { numa_topology: topology, network_metadata: networks, pci_requests: pciRequests } = spec;
  return {
    topology: topology && {
      ...wantedTopology(topology),
      networks: networks && { physnets: new Set(networks.physnets), isTunneled: networks.tunneled ?? false },
    },
    pciRequests: pciRequests === undefined ? [] : wantedDevices(pciRequests),
  };
}

function wantedTopology({ cells = [], emulator_threads_policy: policy }: InstanceTopologyObject) {
  return {
    isEmulatorIsolated: policy === 'isolate',
    cells: cells.map((cell) => ({
      id: cell.id ?? -1,
      cpuset: new Set(cell.cpuset),
      pcpuset: new Set(cell.pcpuset),
      memoryMb: cell.memory ?? 0,
      pagesize: cell.pagesize ?? 0,
      cpuPolicy: cell.cpu_policy,
      threadPolicy: cell.cpu_thread_policy,
    })),
  };
}

function wantedDevices({ requests = [] }: PciRequestsObject): PciRequest[] {
  return requests.map(({ count = 0, spec = [], numa_policy: numaPolicy }) => ({ count, anyOf: spec, numaPolicy }));
}
