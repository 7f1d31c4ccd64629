import type { Networks } from '../hardware/host-hardware';
import { writeObject } from './versioned-object';

/** A host that was selected, as Nova gets it. */
export interface Selection {
  readonly computeNodeUuid: string;
  readonly serviceHost: string;
  readonly nodename: string;
  readonly cellUuid: string;
  /** JSON of what is claimed there, as PUT /allocations takes it; undefined where nothing is claimed. */
  readonly allocationRequest: string | undefined;
  readonly availabilityZone: string | undefined;
  readonly numaLimits: NumaLimits | undefined;
}

/** Limits of a host for instances with NUMA nodes, which nova-compute claims by. */
export interface NumaLimits {
  readonly cpuAllocationRatio: number;
  readonly ramAllocationRatio: number;
  readonly networks: Networks | undefined;
}

/** The microversion of allocation requests that stock schedulers write: Nova claims alternates by it. */
export const ALLOCATION_REQUEST_VERSION = '1.36';

/** Version 1.1, which Nova 26 to 33 have. */
export function writeSelection(selection: Selection): object {
  const { computeNodeUuid, serviceHost, nodename, cellUuid, allocationRequest, availabilityZone } = selection;
  const numaTopology = selection.numaLimits ? writeNumaLimits(selection.numaLimits) : null;
  return writeObject('Selection', '1.1', {
    compute_node_uuid: computeNodeUuid,
    service_host: serviceHost,
    nodename,
    cell_uuid: cellUuid,
    limits: writeObject('SchedulerLimits', '1.0', {
      numa_topology: numaTopology,
      vcpu: null,
      disk_gb: null,
      memory_mb: null,
    }),
    allocation_request: allocationRequest ?? 'null',
    allocation_request_version: allocationRequest === undefined ? null : ALLOCATION_REQUEST_VERSION,
    availability_zone: availabilityZone ?? null,
  });
}

function writeNumaLimits({ cpuAllocationRatio, ramAllocationRatio, networks }: NumaLimits): object {
  return writeObject('NUMATopologyLimits', '1.1', {
    cpu_allocation_ratio: cpuAllocationRatio,
    ram_allocation_ratio: ramAllocationRatio,
    ...(networks && {
      network_metadata: writeObject('NetworkMetadata', '1.0', {
        physnets: [...networks.physnets],
        tunneled: networks.isTunneled,
      }),
    }),
  });
}

/** The form for callers that know no objects. */
export function writeLegacySelection({ serviceHost, nodename }: Selection): object {
  return { host: serviceHost, nodename, limits: {} };
}
